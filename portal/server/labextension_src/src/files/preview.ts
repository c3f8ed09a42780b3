import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { PageConfig } from '@jupyterlab/coreutils';
import {
  ABCWidgetFactory,
  Base64ModelFactory,
  DocumentRegistry,
  DocumentWidget
} from '@jupyterlab/docregistry';
import { ServiceManager } from '@jupyterlab/services';
import { Widget } from '@lumino/widgets';

import { askPortal } from '../base/api';
import { S3 } from '../s3/drive';
import { addStyle } from '../base/style';

const NAME = 'Preview';
const MODEL = 'data-scientist-portal-without-content';
const FILE_TYPES = [
  { name: 'parquet', displayName: 'Parquet', extensions: ['.parquet'] },
  { name: 'model-keras', displayName: 'Keras model', extensions: ['.keras'] },
  { name: 'model-pytorch', displayName: 'PyTorch checkpoint', extensions: ['.pt', '.pth'] },
  { name: 'model-safetensors', displayName: 'Safetensors', extensions: ['.safetensors'] },
  { name: 'model-onnx', displayName: 'ONNX model', extensions: ['.onnx'] }
];
const STYLE = `
.dsp-preview { padding: 16px; overflow: auto; color: var(--jp-ui-font-color1);
  background: var(--jp-layout-color1); font-size: var(--jp-ui-font-size1); }
.dsp-preview h2 { font-size: var(--jp-ui-font-size2); margin: 16px 0 6px; }
.dsp-preview table { border-collapse: collapse; font-family: var(--jp-code-font-family); }
.dsp-preview :is(th, td) { padding: 3px 14px 3px 0; text-align: left; white-space: nowrap;
  border-bottom: 1px solid var(--jp-border-color2); }
.dsp-preview th { font-family: var(--jp-ui-font-family); font-weight: 600; }
`;

interface ITable {
  readonly title: string;
  readonly columns: ReadonlyArray<string>;
  readonly rows: ReadonlyArray<ReadonlyArray<string>>;
}

interface IPreview {
  readonly facts: ReadonlyArray<string>;
  readonly tables: ReadonlyArray<ITable>;
}

/** Files are looked at by the server: a model may have many gigabytes. */
class WithoutContent extends Base64ModelFactory {
  get name(): string {
    return MODEL;
  }

  get fileFormat(): null {
    return null;
  }
}

class PreviewFactory extends ABCWidgetFactory<DocumentWidget> {
  constructor(
    private readonly services: ServiceManager.IManager,
    options: DocumentRegistry.IWidgetFactoryOptions
  ) {
    super(options);
  }

  protected createNewWidget(context: DocumentRegistry.Context): DocumentWidget {
    const content = new Widget();
    content.addClass('dsp-preview');
    const show = () => void this.show(context, content.node);
    void context.ready.then(() => {
      show();
      context.fileChanged.connect(show);
    });
    return new DocumentWidget({ content, context });
  }

  private async show(context: DocumentRegistry.Context, node: HTMLElement): Promise<void> {
    const { contents, serverSettings } = this.services;
    const path = encodeURIComponent(contents.localPath(context.path));
    const route = contents.driveName(context.path) === S3 ? 's3/preview' : 'preview';
    try {
      draw(await askPortal<IPreview>(serverSettings, `${route}?path=${path}`), node);
    } catch (error) {
      node.replaceChildren(element('p', (error as Error).message));
    }
  }
}

function draw({ facts, tables }: IPreview, node: HTMLElement): void {
  const parts = facts.map(fact => element('p', fact));
  for (const { title, columns, rows } of tables.filter(({ rows }) => rows.length > 0)) {
    const table = document.createElement('table');
    const head = table.createTHead().insertRow();
    head.append(...columns.map(name => element('th', name)));
    const body = table.createTBody();
    for (const row of rows) {
      body.insertRow().append(...row.map(text => element('td', text)));
    }
    parts.push(element('h2', title), table);
  }
  node.replaceChildren(...parts);
}

function element(tag: string, text: string): HTMLElement {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

export const previewPlugin: JupyterFrontEndPlugin<void> = {
  id: 'data-scientist-portal:preview',
  description: 'Shows what is in models and Parquet files.',
  autoStart: true,
  activate: ({ docRegistry, serviceManager }: JupyterFrontEnd) => {
    if (PageConfig.getOption('portalPreviews') !== 'true') {
      return;
    }
    addStyle('data-scientist-portal-preview', STYLE);
    docRegistry.addModelFactory(new WithoutContent());
    for (const type of FILE_TYPES) {
      docRegistry.addFileType({ ...type, mimeTypes: [], fileFormat: null });
    }
    const fileTypes = FILE_TYPES.map(({ name }) => name);
    docRegistry.addWidgetFactory(
      new PreviewFactory(serviceManager, {
        name: NAME,
        modelName: MODEL,
        fileTypes,
        defaultFor: fileTypes,
        readOnly: true
      })
    );
  }
};
