import { mount } from './runs.js';

mount(document.querySelector('.dsp-runs'), document.body.dataset.baseUrl);
