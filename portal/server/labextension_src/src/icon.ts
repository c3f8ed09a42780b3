import { LabIcon } from '@jupyterlab/ui-components';

/** A rising curve over its points. */
export const tensorBoardIcon = new LabIcon({
  name: 'data-scientist-portal:tensorboard',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="#616161" d="M3 3h2v16h16v2H3z"/>
  <path fill="none" stroke="#f57c00" stroke-width="2.6"
    stroke-linecap="round" stroke-linejoin="round" d="M8 15l4-5 3.5 2.5L20.5 5"/>
</svg>`
});
