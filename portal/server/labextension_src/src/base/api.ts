import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

import { FORBIDDEN, isSignedOut, signIn } from './login';

// A connection that is lost may not say so.
const LONGEST_CHUNK_MS = 180_000;

/** Ask the portal's part of the notebook server for JSON. Errors carry the server's sentence. */
export async function askPortal<T>(
  settings: ServerConnection.ISettings,
  path: string,
  method = 'GET',
  body?: unknown
): Promise<T> {
  return (await (await fetchPortal(settings, `portal/api/${path}`, method, body)).json()) as T;
}

/**
 * Send a request to the portal's part of the notebook server. Errors carry its sentence.
 *
 * A request of a user who was signed out is repeated after the next login.
 */
export async function fetchPortal(
  settings: ServerConnection.ISettings,
  path: string,
  method = 'GET',
  body?: unknown
): Promise<Response> {
  const url = URLExt.join(settings.baseUrl, path);
  const request = requestOf(method, body);
  let response = await ServerConnection.makeRequest(url, request, settings);
  if (response.status === FORBIDDEN && (await isSignedOut(settings))) {
    if (!(await signIn(settings, method !== 'GET'))) {
      throw new Error('You are signed out. Sign in again and repeat what you did.');
    }
    response = await ServerConnection.makeRequest(url, request, settings);
  }
  if (!response.ok) {
    throw new ServerConnection.ResponseError(response, await sentenceOf(response));
  }
  return response;
}

function requestOf(method: string, body: unknown): RequestInit {
  if (body instanceof Blob) {
    const headers = { 'Content-Type': 'application/octet-stream' };
    return { method, body, headers, signal: AbortSignal.timeout(LONGEST_CHUNK_MS) };
  }
  return { method, body: body === undefined ? undefined : JSON.stringify(body) };
}

async function sentenceOf(response: Response): Promise<string> {
  const answer = (await response.json().catch(() => ({}))) as { message?: string };
  return (
    answer.message ??
    `The notebook server answered with status ${response.status}. Reload the page and try again.`
  );
}
