import { existsSync } from 'node:fs';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { trainingPython } from '../../../../scripts/cli/train/python-environment.js';
import { failureOf } from '../../../support/failure-of.js';
import { StandInPython } from './stand-in-python.js';

describe('trainingPython', () => {
  let python: StandInPython;
  let parent: string;
  let places = 0;
  before(async () => {
    python = await StandInPython.create();
  });
  after(() => python.remove());
  beforeEach(async () => {
    places += 1;
    parent = join(python.folder, `venvs-${places}`);
    await mkdir(parent);
  });

  const said: string[] = [];
  const make = (signal = new AbortController().signal, say = (text: string) => said.push(text)) =>
    trainingPython({ folder: join(parent, 'train'), base: python.path, signal, say });

  it('makes an environment once, says its size, and leaves nothing beside it', async () => {
    said.length = 0;
    const path = await make();
    expect(path).to.equal(join(parent, 'train', 'bin', 'python'));
    expect(said[0]).to.include('once').and.include(join(parent, 'train')).and.include('410 MB');
    expect(said[1]).to.equal('  numpy');
    expect(await readdir(parent)).to.deep.equal(['train']);
    const { ino } = await stat(path);
    said.length = 0;
    expect(await make()).to.equal(path);
    expect([said, (await stat(path)).ino]).to.deep.equal([[], ino]);
  });

  it('makes it again for other packages', async () => {
    const path = await make();
    const { ino } = await stat(path);
    await writeFile(join(parent, 'train', 'complete'), 'another digest');
    await make();
    expect((await stat(path)).ino).to.not.equal(ino);
    expect(await readdir(parent)).to.deep.equal(['train']);
  });

  it('leaves nothing when pip fails, or after an interruption', async () => {
    await writeFile(join(parent, 'pip'), 'fails');
    const failure = await failureOf(make());
    expect(failure).to.include({ code: 'no_packages' });
    expect(String(failure)).to.include('No matching distribution');
    expect(await readdir(parent)).to.deep.equal(['pip']);

    await writeFile(join(parent, 'pip'), 'hangs');
    const stop = new AbortController();
    const onPackage = (text: string) => {
      if (text === '  numpy') stop.abort();
      return 0;
    };
    expect(await failureOf(make(stop.signal, onPackage))).to.include({ code: 'interrupted', exitCode: 130 });
    expect(existsSync(join(parent, 'train'))).to.equal(false);
    expect(await readdir(parent)).to.deep.equal(['pip']);
  });
});
