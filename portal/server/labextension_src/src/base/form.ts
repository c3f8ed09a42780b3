import { Widget } from '@lumino/widgets';

import { addStyle } from './style';

export interface IField {
  readonly key: string;
  readonly label: string;
  readonly hint?: string;
  readonly kind?: 'line' | 'secret' | 'text' | 'check' | 'choice';
  /** Of a choice: value and what is shown. */
  readonly choices?: ReadonlyArray<readonly [string, string]>;
  readonly pattern?: string;
  /** Shown only while another field has this value. */
  readonly onlyIf?: readonly [key: string, value: string];
  readonly isRequired?: boolean;
}

/** JupyterLab cuts long dialogs off, and gives text areas the colours of the browser. */
const STYLE = `
.dsp-form { min-width: min(30em, 80vw); }
.dsp-form small { display: block; color: var(--jp-ui-font-color2); }
.dsp-form label:has(:invalid:not(:placeholder-shown)) + small { color: var(--jp-error-color1); }
.jp-Dialog:has(.dsp-form) .jp-Dialog-content { max-height: 94vh; }
.dsp-form textarea, .dsp-form select {
  box-sizing: border-box;
  width: 100%;
  border: 1px solid var(--jp-border-color1);
  background: var(--jp-input-background);
  color: var(--jp-ui-font-color0);
  font-family: var(--jp-code-font-family);
}
.dsp-form .jp-select-wrapper, .dsp-form select { margin-bottom: 0; font-family: inherit; }
`;

export type Values = Record<string, string | boolean>;

/** Fields below each other, as the body of a dialog. */
export class Form extends Widget {
  private readonly inputs = new Map<
    string,
    HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement
  >();

  /** An `error` is shown above the fields. */
  constructor(fields: ReadonlyArray<IField>, values: Readonly<Values>, error = '') {
    super();
    addStyle('dsp-form', STYLE);
    this.addClass('dsp-form');
    if (error) {
      const text = document.createElement('p');
      text.textContent = error;
      text.setAttribute('role', 'alert');
      Object.assign(text.style, { color: 'var(--jp-error-color1)', maxWidth: '34em' });
      this.node.append(text);
    }
    fields.forEach(field => this.node.append(this.row(field, values[field.key])));
    const showAll = () =>
      fields.forEach(({ key, onlyIf }) => onlyIf && this.showOrHide(key, onlyIf));
    this.node.addEventListener('change', showAll);
    showAll();
  }

  private showOrHide(key: string, [other, value]: readonly [string, string]): void {
    const input = this.inputs.get(key)!;
    input.disabled = this.inputs.get(other)?.value !== value;
    // JupyterLab's dialog has put a choice into a div of its own by now.
    input.closest('label')!.parentElement!.hidden = input.disabled;
  }

  getValue(): Values {
    const entries = [...this.inputs]
      .filter(([, { disabled }]) => !disabled)
      .map(([key, input]) => [key, isCheckbox(input) ? input.checked : input.value.trim()]);
    return Object.fromEntries(entries) as Values;
  }

  private row(field: IField, value: string | boolean | undefined): HTMLElement {
    const input = makeInput(field);
    if (isCheckbox(input)) {
      input.checked = value === true;
    } else if (typeof value === 'string') {
      input.value = value;
    }
    this.inputs.set(field.key, input);
    const row = document.createElement('div');
    const label = document.createElement('label');
    row.style.marginBottom = '10px';
    label.style.display = 'block';
    label.append(...(isCheckbox(input) ? [input, ' ', field.label] : [field.label, input]));
    row.append(label);
    if (field.hint) {
      const hint = document.createElement('small');
      hint.textContent = field.hint;
      hint.id = `dsp-hint-${field.key}`;
      input.setAttribute('aria-describedby', hint.id);
      row.append(hint);
    }
    return row;
  }
}

function makeInput({ kind, choices, pattern, isRequired }: IField) {
  if (kind === 'choice') {
    const select = document.createElement('select');
    (choices ?? []).forEach(([value, text]) => select.append(new Option(text, value)));
    return select;
  }
  if (kind === 'text') {
    const area = document.createElement('textarea');
    area.rows = 4;
    return area;
  }
  const input = document.createElement('input');
  input.type = kind === 'check' ? 'checkbox' : kind === 'secret' ? 'password' : 'text';
  input.autocomplete = 'off';
  // So that a style can tell an empty field from a wrong one.
  input.placeholder = ' ';
  input.required = isRequired === true;
  input.style.width = '100%';
  if (kind === 'check') {
    // Dialogs draw each input as a box for text.
    Object.assign(input.style, { appearance: 'auto', width: 'auto', height: 'auto' });
    input.style.accentColor = 'var(--jp-brand-color1)';
  }
  if (pattern) {
    input.pattern = pattern;
  }
  return input;
}

function isCheckbox(input: HTMLElement): input is HTMLInputElement {
  return input instanceof HTMLInputElement && input.type === 'checkbox';
}
