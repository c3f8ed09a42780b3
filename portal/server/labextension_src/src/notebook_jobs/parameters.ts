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

/** Return what a form changed, so that all other names keep the values of the cell. */
export function changedOf(
  before: ReadonlyArray<readonly [string, string]>,
  after: Readonly<Record<string, string>>
): Record<string, string> {
  return Object.fromEntries(
    before
      .filter(([name, value]) => after[name] !== undefined && after[name] !== value)
      .map(([name]) => [name, after[name]])
  );
}
