import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

/** Ask the portal's part of the notebook server for JSON. Errors carry the server's sentence. */
export async function askPortal<T>(
  settings: ServerConnection.ISettings,
  path: string,
  method = 'GET',
  body?: unknown
): Promise<T> {
  return (await (await fetchPortal(settings, `portal/api/${path}`, method, body)).json()) as T;
}

/** Send a request to the portal's part of the notebook server. Errors carry its sentence. */
export async function fetchPortal(
  settings: ServerConnection.ISettings,
  path: string,
  method = 'GET',
  body?: unknown
): Promise<Response> {
  const url = URLExt.join(settings.baseUrl, path);
  const request = { method, body: body === undefined ? undefined : JSON.stringify(body) };
  const response = await ServerConnection.makeRequest(url, request, settings);
  if (!response.ok) {
    throw new Error(await sentenceOf(response));
  }
  return response;
}

async function sentenceOf(response: Response): Promise<string> {
  const answer = (await response.json().catch(() => ({}))) as { message?: string };
  return (
    answer.message ??
    `The notebook server answered with status ${response.status}. Reload the page and try again.`
  );
}
