// The page of a course link: what it would fetch, or a form that makes such a link.
import { Requests } from './requests.js';

const root = document.querySelector('.dsp-course');
const requests = new Requests(root, `${document.body.dataset.baseUrl}portal/api/courses`);

async function offer() {
  let course;
  try {
    course = await requests.ask('GET', location.search);
  } catch (error) {
    requests.part('refused').hidden = false;
    requests.part('back').hidden = false;
    throw error;
  }
  for (const name of ['repository', 'folder']) {
    requests.part(name).textContent = course[name];
  }
  requests.part('branch').textContent = course.branch || 'the default one';
  requests.part('course').hidden = false;
  const button = requests.part('fetch');
  button.addEventListener('click', () => requests.saying(async () => {
    button.disabled = true;
    requests.say('The course is being copied. This can take some minutes.');
    try {
      location.assign((await requests.ask('POST', location.search)).url);
    } finally {
      button.disabled = false;
    }
  }));
}

async function makeLinks() {
  const { hosts, link } = await requests.ask('GET');
  document.title = 'Make a course link';
  requests.part('hosts').textContent = hosts.length
    ? `Courses come from ${hosts.join(', ')}.`
    : 'This portal fetches no courses: [git] of portal.toml names no hosts.';
  const form = requests.part('maker');
  form.hidden = false;
  form.addEventListener('submit', event => {
    event.preventDefault();
    void requests.saying(async () => {
      const given = new FormData(form);
      const query = new URLSearchParams({ repo: given.get('repo').trim() });
      if (given.get('branch').trim()) {
        query.set('branch', given.get('branch').trim());
      }
      if (given.get('file').trim()) {
        query.set('subpath', given.get('file').trim());
      }
      // The same check as when it is opened.
      await requests.ask('GET', `?${query}`);
      const address = `${location.origin}${link}?${query}`;
      const anchor = requests.part('link');
      anchor.href = address;
      anchor.textContent = address;
      requests.say('');
    });
  });
}

requests.saying(new URLSearchParams(location.search).has('repo') ? offer : makeLinks);
