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

/** Two runs side by side. */
export const mlflowIcon = new LabIcon({
  name: 'data-scientist-portal:mlflow',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="#616161" d="M3 19h18v2H3zM3 4h2v17H3z"/>
  <path fill="#0277bd" d="M8 9h4v9H8z"/>
  <path fill="#f57c00" d="M15 5h4v13h-4z"/>
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

/** A question mark in a ring. */
export const helpIcon = new LabIcon({
  name: 'data-scientist-portal:help',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="#616161" fill-rule="evenodd"
    d="M2 12a10 10 0 1 1 20 0a10 10 0 1 1-20 0zm2 0a8 8 0 1 0 16 0a8 8 0 1 0-16 0z"/>
  <text class="jp-icon3" fill="#616161" x="12" y="17" text-anchor="middle"
    font-family="sans-serif" font-weight="700" font-size="14">?</text>
</svg>`
});

/** The portal's logo, as on the pages of the hub. */
export const portalIcon = new LabIcon({
  name: 'data-scientist-portal:portal',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 32 32">
  <g fill="none" stroke-width="3" stroke-linecap="round">
    <path stroke="#1f7a99" d="M5 28V16a11 11 0 0 1 22 0v12"/>
    <path stroke="#e08a2e" d="M11.5 28v-6M16 28V16M20.5 28v-9"/>
  </g>
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

/** A bucket. */
export const bucketIcon = new LabIcon({
  name: 'data-scientist-portal:bucket',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="#616161" d="M4 8l2 13h12l2-13zm2.3 2h11.4l-1.4 9H7.7z"/>
  <ellipse cx="12" cy="6" rx="9" ry="3" fill="#1565c0"/>
</svg>`
});

interface ITile {
  readonly letters: string;
  readonly color: string;
}

/** By the display names of folders of templates, and the names of kernels. */
const TILES: Readonly<Record<string, ITile>> = {
  Horovod: { letters: 'H', color: '#5e35b1' },
  Keras: { letters: 'K', color: '#c62828' },
  MXNet: { letters: 'MX', color: '#00695c' },
  PyTorch: { letters: 'PT', color: '#d84315' },
  R: { letters: 'R', color: '#1f5fae' },
  TensorFlow: { letters: 'TF', color: '#b75500' },
  ir: { letters: 'R', color: '#1f5fae' },
  mxnet: { letters: 'MX', color: '#00695c' },
  python3: { letters: 'Py', color: '#306998' },
  pytorch: { letters: 'PT', color: '#d84315' },
  tensorflow: { letters: 'TF', color: '#b75500' }
};

/** Ends the names of the icons of what cannot run here. */
export const LACKING = '-lacking';

/** The icon of a template: that of its framework, else of its kernel; without a folder the star. */
export function frameworkIcon(framework: string, kernel: string, isLacking: boolean): LabIcon {
  const tile = framework ? (TILES[framework] ?? TILES[kernel]) : undefined;
  const lacking = isLacking ? LACKING : '';
  if (tile === undefined) {
    return isLacking
      ? new LabIcon({ name: templateIcon.name + lacking, svgstr: templateIcon.svgstr })
      : templateIcon;
  }
  const { letters, color } = tile;
  return new LabIcon({
    name: `data-scientist-portal:framework-${letters}${lacking}`,
    svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <rect x="2" y="2" width="20" height="20" rx="4" fill="${color}"/>
  <text x="12" y="16" text-anchor="middle" font-family="sans-serif" font-weight="700"
    font-size="${letters.length > 1 ? 11 : 14}" fill="#fff">${letters}</text>
</svg>`
  });
}

/** A chip. */
export const gpuIcon = new LabIcon({
  name: 'data-scientist-portal:gpu',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="#616161" fill-rule="evenodd" d="M6 6h12v12H6zm2 2v8h8V8z"/>
  <path class="jp-icon3" fill="#616161"
    d="M8 2h2v3H8zm6 0h2v3h-2zM8 19h2v3H8zm6 0h2v3h-2zM2 8h3v2H2zm0 6h3v2H2zM19 8h3v2h-3zm0 6h3v2h-3z"/>
  <path fill="#2e7d32" d="M10 10h4v4h-4z"/>
</svg>`
});
