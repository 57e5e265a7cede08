import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { MongoNetworkError, MongoServerError } from 'mongodb';
import { absentServer, Outage } from '../../../shared/process/outage.js';
import { MongoTimeout } from '../../../shared/store/connection/connect.js';
import { eventually } from '../../support/eventually.js';

const withCode = (message: string, code: string | number) => Object.assign(new Error(message), { code });

describe('absentServer', () => {
  it('tells which server is away by an error, also by its cause', () => {
    for (const error of [
      new Error('Connection is closed.'),
      new Error('Command timed out'),
      new Error('Too many Cluster redirections. Last error: Error: Connection is closed.'),
      new Error("Stream isn't writeable and enableOfflineQueue options is false"),
      new Error('LOADING Redis is loading the dataset in memory'),
      withCode('connect ECONNREFUSED 127.0.0.1:6379', 'ECONNREFUSED'),
      new Error('quota could not be read', { cause: new Error('Command timed out') }),
    ])
      expect(absentServer(error), error.message).to.equal('Redis');
    for (const error of [
      new MongoTimeout(),
      new MongoNetworkError('connection 3 closed', { cause: withCode('read ECONNRESET', 'ECONNRESET') }),
      new MongoServerError({ message: 'not primary', code: 10_107 }),
    ])
      expect(absentServer(error), error.message).to.equal('MongoDB');
  });

  it('is undefined for errors of a server that answers, and of other servers', () => {
    for (const error of [
      new Error("OOM command not allowed when used memory > 'maxmemory'"),
      new MongoServerError({ message: 'E11000 duplicate key', code: 11_000 }),
      new TypeError('fetch failed', { cause: withCode('connect ECONNREFUSED 10.0.0.1:443', 'ECONNREFUSED') }),
      'Connection is closed.',
    ])
      expect(absentServer(error), String(error)).to.equal(undefined);
  });
});

describe('Outage', () => {
  function noted() {
    const lines: [level: string, fields: { readonly failures?: number; readonly failed?: string }, message: string][] =
      [];
    const at = (level: string) => (fields: object, message?: string) => void lines.push([level, fields, message ?? '']);
    return { lines, logger: { warn: at('warn'), info: at('info'), debug: at('debug') } };
  }
  const error = new Error('Command timed out');

  it('writes one line at the first failure, and one a second after an answer that no failure followed', async () => {
    const { lines, logger } = noted();
    const outage = new Outage('Redis', logger);
    outage.answered();
    for (const failed of ['sweep', 'ping', 'ping']) outage.failed(error, failed);
    outage.answered();
    await pause(300);
    outage.failed(error, 'ping');
    await pause(1_200);
    expect(lines.map(([level]) => level)).to.deep.equal(['warn']);
    outage.answered();
    outage.answered();
    await eventually(() => expect(lines).to.have.length(2));
    const [lost, back] = lines;
    expect(lost?.[1]).to.deep.equal({ server: 'Redis', error: 'Command timed out', failed: 'sweep' });
    expect(back).to.deep.include('info').and.include('Redis answers again');
    expect(back?.[1]).to.include({ failures: 4 });
  });

  it('writes at the level debug in a part whose main thread or pool reports', async () => {
    const { lines, logger } = noted();
    const outage = new Outage('MongoDB', logger, false);
    outage.failed(error, 'read');
    outage.answered();
    await eventually(() => expect(lines.map(([level]) => level)).to.deep.equal(['debug', 'debug']));
  });
});
