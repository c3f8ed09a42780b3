export interface IKernelName {
  readonly name: string;
  readonly display_name: string;
  readonly language: string;
}

/** Words that mean the same framework in the names of kernels. */
const FRAMEWORKS: ReadonlyArray<ReadonlyArray<string>> = [
  ['tensorflow', 'tf', 'keras'],
  ['pytorch', 'torch', 'lightning', 'transformers', 'huggingface'],
  ['jax', 'flax'],
  ['mxnet', 'gluon'],
  ['horovod'],
  ['rapids', 'cudf', 'cuml']
];

/**
 * Sort kernels by how well they fit a notebook that asks for one which is not there.
 *
 * Those of its language fit, if it names a framework only those of that.
 */
export function fitting<T extends IKernelName>(
  wanted: IKernelName,
  kernels: ReadonlyArray<T>
): { readonly fits: ReadonlyArray<T>; readonly others: ReadonlyArray<T> } {
  const asked = frameworksOf(wanted);
  const sorted = [...kernels].sort((a, b) => a.display_name.localeCompare(b.display_name));
  const isFit = (kernel: T) =>
    kernel.language.toLowerCase() === wanted.language.toLowerCase() &&
    (asked.length === 0 || frameworksOf(kernel).some(index => asked.includes(index)));
  // The same kernel without the user's packages helps only if those are broken.
  const isPlain = (kernel: T) => !kernel.name.endsWith('-without-packages');
  const fits = sorted.filter(isFit);
  return {
    fits: [...fits.filter(isPlain), ...fits.filter(kernel => !isPlain(kernel))],
    others: sorted.filter(kernel => !isFit(kernel))
  };
}

function frameworksOf({ name, display_name }: IKernelName): number[] {
  const words = wordsOf(`${name} ${display_name}`);
  return FRAMEWORKS.flatMap((names, index) =>
    // As in "tf2" and "torch21".
    words.some(word => names.includes(word.replace(/\d+$/, ''))) ? [index] : []
  );
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().split(/[^a-z0-9]+/);
}

/** A short name for an environment in the place of a kernel: "own-nlp" was somebody's "nlp". */
export function shortName(kernel: string): string {
  const name = kernel
    .toLowerCase()
    .replace(/^(own|site|conda-env)-/, '')
    .replace(/[^a-z0-9._-]+/g, '-');
  return name.replace(/^[^a-z0-9]+/, '').slice(0, 61);
}
