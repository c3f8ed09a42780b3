import { LabIcon } from '@jupyterlab/ui-components';

export const METER_TITLE = 'Resource usage of this session';

export const meterIcon = new LabIcon({
  name: 'data-scientist-portal:meter',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><path class="jp-icon3" ' +
    'fill="#616161" d="M3 20h18v-2H3zM4 16h3v-5H4zm5 0h3V4H9zm5 0h3V8h-3zm5 0h2v-3h-2z"/></svg>'
});
