import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { projectFile } from '../shared/process/project-root.js';

const contents = (path: string): string => readFileSync(projectFile(path), 'utf8');
const found = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, group = '']) => group);

/** Settings that compose fixes for all containers. */
const fixed = ['REDIS_URL', 'MONGODB_URL', 'HOST', 'ADMIN_PORT', 'WORKER_ADMIN_PORT', 'BULK_ADMIN_PORT'];

describe('docker-compose.yml', () => {
  const compose = contents('docker-compose.yml');

  it('takes every other setting of .env.example from .env, and says which it does not take', () => {
    const all = found(contents('.env.example'), /^#?([A-Z][A-Z_]+)=/gm);
    const settings = all.filter((name) => !name.startsWith('TEST_'));
    expect(settings).to.have.length.above(15).and.include.members(fixed);
    const taken = new Set(found(compose, /\$\{([A-Z_]+):[-?]/g));
    expect([...taken].sort()).to.deep.equal(
      [...settings.filter((name) => !fixed.includes(name)), 'WORKER_MEMORY'].sort(),
    );
    const head = compose.slice(0, compose.indexOf('\nx-'));
    for (const name of fixed) expect(head).to.include(name);
  });

  it('bounds the logs of each container, and the memory of the one that runs models', () => {
    const images = found(compose, /^ +(image|build): /gm).length;
    expect(found(compose, /^ +(logging): \*logging$/gm)).to.have.length(images - 1); // x-service has both
    expect(compose).to.match(/^ {2}worker:\n(?: {4}.*\n)* {4}mem_limit: /m);
  });

  it('pins each image to an exact version, as the Dockerfile does, on a Node that is maintained', () => {
    const images = found(compose, /^ +image: (\S+)$/gm).filter((image) => image !== 'leadscore');
    expect(images).to.have.length(3);
    for (const image of images) expect(image).to.match(/^[a-z]+:\d+\.\d+\.\d+$/);
    const dockerfile = contents('Dockerfile');
    expect(found(dockerfile, /^ARG NODE_VERSION=(\S+)/gm)).to.deep.equal([contents('.nvmrc').trim()]);
    expect(contents('.nvmrc')).to.match(/^24\.\d+\.\d+\n$/);
    for (const image of found(dockerfile, /^FROM (\S+)/gm)) expect(image).to.match(/^node:\$\{NODE_VERSION\}-/);
  });

  it('leaves Redis as much memory beside its data, for a rewrite of the append-only file', () => {
    const redis = compose.slice(compose.indexOf('\n  redis:'), compose.indexOf('\n  mongo:'));
    const [data] = found(redis, /--maxmemory, (\d+)gb[\],]/g).map(Number);
    const [container] = found(redis, /mem_limit: (\d+)g$/gm).map(Number);
    expect(data).to.be.above(0);
    expect(container).to.equal(2 * (data ?? 0));
    expect(redis).to.include('--maxmemory-policy, noeviction');
  });

  it('has workers outlast the gateways, which need them for their last calls', () => {
    expect(compose).to.match(/^x-gateway:[^\n]*\n(?: .*\n)* {2}depends_on:\n(?: {4}.*\n)* {4}worker: /m);
  });

  it('has the command line call the balancer', () => {
    expect(compose).to.match(/^ {2}cli:\n(?: {4}.*\n)* {6}BASE_URL: http:\/\/balancer:8080/m);
  });
});
