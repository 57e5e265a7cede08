import { readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { readServerRecord } from '../../scripts/servers/private-servers.js';
import { isAlive } from '../../scripts/servers/server-process.js';
import { anyPort, noServers } from '../support/entry/settings.js';
import { StartedCommand } from '../support/entry/started-command.js';
import { eventually } from '../support/eventually.js';
import { projectCopy } from '../support/project-copy.js';
import { startTimeoutMs } from '../support/service/service.js';

describe('npm run dev', () => {
  it('starts gateway and pool again when a compiled file changes, and ends all processes on Ctrl-C', async function () {
    this.timeout(4 * startTimeoutMs);
    const copy = await projectCopy();
    const { compilerOptions } = JSON.parse(await readFile(join(copy.directory, 'tsconfig.json'), 'utf8'));
    const fewFiles = { compilerOptions, files: ['shared/process/project-root.ts'] }; // compiles within a second
    await writeFile(join(copy.directory, 'tsconfig.json'), JSON.stringify(fewFiles));
    const { scripts } = JSON.parse(await readFile(join(copy.directory, 'package.json'), 'utf8'));
    const program = scripts.dev.replace('node scripts/setup.mjs && ', '');
    const dev = new StartedCommand(['sh', '-c', program], {
      directory: copy.directory,
      environment: { ...anyPort, ...noServers },
    });
    try {
      const [, firstUrl] = await dev.prints(/"url":"(http:[^"]+)","msg":"ready"/, startTimeoutMs);
      await eventually(async () => expect((await fetch(`${firstUrl}/readyz`)).status).to.equal(200));
      const now = new Date();
      await utimes(join(copy.directory, 'dist/worker/child.js'), now, now);
      await dev.prints(/"file":"dist\/worker\/child.js","msg":"file changed/, startTimeoutMs);
      const [, secondUrl] = await dev.prints(/file changed.*"url":"(http:[^"]+)","msg":"ready"/s, startTimeoutMs);
      await eventually(async () => expect((await fetch(`${secondUrl}/readyz`)).status).to.equal(200));
      expect(await fetch(`${firstUrl}/readyz`).catch(() => 'refused')).to.equal('refused');
      const pids = (await readServerRecord(join(copy.directory, '.local/data')))?.serverPids ?? [];
      expect(pids).to.have.length(2);
      dev.interrupt();
      const { how, output } = await dev.ended;
      expect(how, output).to.equal(0);
      expect(output).to.not.match(/"level":"(error|fatal)"/);
      expect(pids.filter(isAlive)).to.deep.equal([]);
    } finally {
      await dev.stop();
      await copy.remove();
    }
  });
});
