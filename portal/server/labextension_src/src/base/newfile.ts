import { Contents } from '@jupyterlab/services';

/** Save a text in the user's folder under a name that is free, and return it. */
export async function saveAsNew(
  contents: Contents.IManager,
  stem: string,
  ending: string,
  text: string
): Promise<string> {
  const folder = await contents.get('');
  const taken = (folder.content as ReadonlyArray<Contents.IModel>).map(({ name }) => name);
  const path = freeName(stem, ending, taken);
  await contents.save(path, { type: 'file', format: 'text', content: text });
  return path;
}

/** "a.txt", or "a-2.txt" and so on. */
export function freeName(stem: string, ending: string, taken: ReadonlyArray<string>): string {
  let name = `${stem}${ending}`;
  for (let n = 2; taken.includes(name); n++) {
    name = `${stem}-${n}${ending}`;
  }
  return name;
}
