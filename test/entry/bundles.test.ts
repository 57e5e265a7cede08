import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { projectFile } from '../../shared/process/project-root.js';

describe('bundled programs', () => {
  it('define no names of functions, because each closure would pay for its name whenever it is made', () => {
    const chunks = readdirSync(projectFile('dist/chunks')).map((name) => `dist/chunks/${name}`);
    const files = ['dist/api/main.js', 'dist/worker/child.js', ...chunks].filter((file) => file.endsWith('.js'));
    const naming = files.filter((file) => readFileSync(projectFile(file), 'utf8').includes('__name('));
    expect(naming).to.eql([]);
  });
});
