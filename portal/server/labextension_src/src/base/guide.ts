import { Widget } from '@lumino/widgets';

import { hubUrl } from './hub';

/** The place in the guide, page and anchor, of each dialog and panel. */
const PLACES = {
  environment: 'environments#make-an-environment-of-your-own',
  image: 'environments#use-other-environments',
  keys: 's3',
  missingKernel: 'environments#open-a-notebook-whose-kernel-is-missing',
  sessionEnd: 'time-limits',
  sessionGone: 'troubleshooting',
  templates: 'templates'
};

/** Put a link to the guide below the content of a dialog or panel, if there is a hub. */
export function withGuide<T extends Widget>(widget: T, topic: keyof typeof PLACES): T {
  const url = hubUrl(`help/${PLACES[topic]}`);
  if (url !== null) {
    const link = document.createElement('a');
    Object.assign(link, { href: url, target: '_blank', rel: 'noopener' });
    link.textContent = 'See the guide';
    link.style.color = 'var(--jp-content-link-color)';
    const line = document.createElement('p');
    line.style.margin = '8px 0';
    line.append(link);
    widget.node.append(line);
  }
  return widget;
}

/** The text of a dialog, with a link to the guide. */
export function textWithGuide(text: string, topic: keyof typeof PLACES): Widget {
  const body = new Widget();
  body.node.textContent = text;
  return withGuide(body, topic);
}
