/** A cell of a notebook's file. */
export interface ICell {
  readonly cell_type: string;
  readonly source: string | readonly string[];
  readonly metadata?: { readonly tags?: readonly string[] };
}

/** A name that begins a line, perhaps with a type, and a value up to its comment; also R's arrow. */
const ASSIGNMENT =
  /^(?<name>[\p{L}_][\p{L}\p{N}_.]*)\s*(?::[^=]+)?(?:=|<-)(?!=)\s*(?<value>(?:"[^"]*"|'[^']*'|[^#"'])*?)\s*(?:#.*)?$/u;

/** Return names and values of the cell with the tag "parameters", as they are written there. */
export function parametersOf(cells: readonly ICell[]): ReadonlyArray<readonly [string, string]> {
  const cell = cells.find(each => each.metadata?.tags?.includes('parameters'));
  const source = cell?.source ?? '';
  const text = typeof source === 'string' ? source : source.join('');
  return text.split('\n').flatMap(line => {
    const found = ASSIGNMENT.exec(line)?.groups;
    return found?.value ? [[found.name, found.value] as const] : [];
  });
}

/** Return what differs from the cell, so that all other names keep its values. */
export function changedOf(
  before: ReadonlyArray<readonly [string, string]>,
  after: ReadonlyArray<readonly [string, string]>
): Record<string, string> {
  const own = new Map(before);
  return Object.fromEntries(after.filter(([name, value]) => own.get(name) !== value));
}
