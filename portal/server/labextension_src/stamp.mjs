// Writes into the built package.json which sources it was built from.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const folders = ['schema', 'src'];
const files = ['package.json', 'tsconfig.json'];
for (const folder of folders) {
  files.push(...readdirSync(folder).map(name => `${folder}/${name}`));
}
const hash = createHash('sha256');
for (const file of files.sort()) {
  hash.update(`${file}\0`).update(readFileSync(file)).update('\0');
}
const built = '../labextension/package.json';
const metadata = JSON.parse(readFileSync(built, 'utf8'));
metadata.sourcesSha256 = hash.digest('hex');
writeFileSync(built, `${JSON.stringify(metadata, null, 2)}\n`);
