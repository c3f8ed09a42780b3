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

/** A list with what runs marked. */
export const jobsIcon = new LabIcon({
  name: 'data-scientist-portal:jobs',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="#616161" d="M9 5h12v2H9zm0 6h12v2H9zm0 6h12v2H9z"/>
  <path fill="#1565c0" d="M3 3l4 3-4 3z"/>
  <path class="jp-icon3" fill="#616161" d="M3 11h3v3H3zm0 6h3v3H3z"/>
</svg>`
});

/** A notebook page with a star. */
export const templateIcon = new LabIcon({
  name: 'data-scientist-portal:template',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="#616161" d="M5 2h9l5 5v15H5zm2 2v16h10V8h-4V4z"/>
  <path fill="#f57c00" d="M12 10l1.2 2.5 2.8.4-2 2 .5 2.7-2.5-1.3-2.5 1.3.5-2.7-2-2 2.8-.4z"/>
</svg>`
});

/** A track with a runner's lead. */
export const runsIcon = new LabIcon({
  name: 'data-scientist-portal:runs',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="#616161" d="M3 5h11v3H3zm0 6h7v3H3zm0 6h9v3H3z"/>
  <path fill="#2e7d32" d="M14 9l8 5-8 5z"/>
</svg>`
});

/** A box with a lid: packages. */
export const environmentIcon = new LabIcon({
  name: 'data-scientist-portal:environment',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="#616161" d="M4 9h16v11H4zm2 2v7h12v-7z"/>
  <path fill="#2e7d32" d="M3 4h18v4H3zM9 12h6v2H9z"/>
</svg>`
});
