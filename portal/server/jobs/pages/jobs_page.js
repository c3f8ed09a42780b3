import { mount } from './jobs.js';

const script = new URLSearchParams(location.search).get('script');
mount(document.querySelector('.dsp-jobs'), document.body.dataset.baseUrl, script);
if (script) {
  // A reload of the page does not ask again.
  history.replaceState(null, '', location.pathname);
}
