import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fitting, shortName } from '../src/kernels/fit';
import { freeName } from '../src/base/newfile';

const kernel = (name: string, display_name = name, language = 'python') => ({
  name,
  display_name,
  language
});
const KERNELS = [
  kernel('python3', 'Python 3'),
  kernel('pytorch-without-packages', 'PyTorch 2.13 (without your packages)'),
  kernel('pytorch', 'PyTorch 2.13'),
  kernel('tensorflow', 'TensorFlow 2.21'),
  kernel('ir', 'R', 'R')
];
const names = (kernels: ReadonlyArray<{ name: string }>) => kernels.map(({ name }) => name);

void test('kernels of the same framework fit, whatever they are called', () => {
  const { fits, others } = fitting(
    kernel('conda-env-torch21', 'Python [conda env:torch21]'),
    KERNELS
  );

  assert.deepEqual(names(fits), ['pytorch', 'pytorch-without-packages']);
  assert.deepEqual(names(others), ['python3', 'ir', 'tensorflow']);
});

void test('without a framework all kernels of the language fit', () => {
  assert.deepEqual(names(fitting(kernel('r42', 'R 4.2', 'R'), KERNELS).fits), ['ir']);
  assert.equal(fitting(kernel('own-nlp', 'My words'), KERNELS).fits.length, 4);
  assert.equal(fitting(kernel('julia-1.9', 'Julia', 'julia'), KERNELS).fits.length, 0);
});

void test('an environment in the place of a kernel gets a name that is accepted', () => {
  assert.equal(shortName('own-nlp'), 'nlp');
  assert.equal(shortName('conda-env-My Torch-py'), 'my-torch-py');
  assert.equal(shortName('_x'), 'x');
});

void test('a file of the same name is never replaced', () => {
  assert.equal(freeName('a', '.txt', []), 'a.txt');
  assert.equal(freeName('a', '.txt', ['a.txt', 'a-2.txt']), 'a-3.txt');
});
