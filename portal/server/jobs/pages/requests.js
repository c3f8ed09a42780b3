// Requests to the notebook server, and their messages.

export function button(text, label, press) {
  const element = document.createElement('button');
  element.type = 'button';
  element.textContent = text;
  element.setAttribute('aria-label', label);
  element.addEventListener('click', press);
  return element;
}

export class Requests {
  constructor(root, api) {
    this.root = root;
    this.api = api;
  }

  part(name) {
    return this.root.querySelector(`[data-part="${name}"]`);
  }

  async ask(method, path = '', body = undefined) {
    const xsrf = document.cookie.match(/(?:^|; )_xsrf=([^;]*)/);
    const headers = { 'Content-Type': 'application/json', 'X-XSRFToken': xsrf ? xsrf[1] : '' };
    const request = { method, headers, credentials: 'same-origin', body: body && JSON.stringify(body) };
    const response = await fetch(this.api + path, request).catch(() => {
      throw new Error('The notebook server does not answer. If the session ended, start another one.');
    });
    const answer = response.status === 204 ? null : await response.json().catch(() => ({}));
    if (!response.ok) {
      throw new Error(answer?.message || `The notebook server answered ${response.status}. Reload the page.`);
    }
    return answer;
  }

  say(text, isBad = false) {
    const message = this.part('message');
    if (message.textContent !== text) {
      message.textContent = text;
    }
    message.className = isBad ? 'bad' : '';
  }

  async saying(work) {
    try {
      return await work();
    } catch (error) {
      this.say(error.message, true);
      return undefined;
    }
  }
}
