import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

/** Call the portal's REST interface; an error carries the server's sentence. */
export async function askPortal<T>(
  settings: ServerConnection.ISettings,
  path: string,
  method = 'GET',
  body?: unknown
): Promise<T> {
  const url = URLExt.join(settings.baseUrl, 'portal/api', path);
  const request = { method, body: body === undefined ? undefined : JSON.stringify(body) };
  const response = await ServerConnection.makeRequest(url, request, settings);
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    throw new Error(
      answer.message ??
        `The notebook server answered ${response.status}. Reload the page and try again.`
    );
  }
  return answer;
}
