import { expect } from 'chai';
import { readConfig, readOperatorConfig } from '../../../shared/config/config.js';

const secret = 'hunter2';

/** The error message for these settings, or `accepted`. */
function refusal(environment: Readonly<Record<string, string>>): string {
  try {
    readConfig(environment);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'accepted';
}

describe('readConfig', () => {
  const wrong: Readonly<Record<string, readonly string[]>> = {
    REDIS_URL: [
      'http://cache',
      'redis:',
      'redis://',
      `redis://:a/${secret}@cache`,
      `redis://:${secret}#b@cache`,
      `redis://user:12?${secret}@cache`,
      `redis://:${secret}%zz@cache`,
      `redis://:${secret}@cache:port`,
      `redis://:${secret}@cache:6379/first`,
      `rediss://:${secret}@`,
      'unix:',
      'unix:/',
      'unix:redis.sock',
      'redis-cluster:',
      `redis-cluster://:${secret}/@one:7000,two:7000`,
      `redis-cluster://:${secret}@one:port`,
      `redis-cluster://:${secret}@one:7000,two:70000`,
    ],
    MONGODB_URL: [
      'mongodb:',
      'mongodb://',
      'mongodb:/one',
      `mongodb://user:${secret}@/leadscore`,
      `mongodb://user:${secret}%@one/leadscore`,
      `mongodb://user:${secret}%zz@one/leadscore`,
      `mongodb://user:a/${secret}@one/leadscore`,
      `mongodb://user:a@${secret}@one/leadscore`,
      `mongodb://user:${secret}@one:port/leadscore`,
      `mongodb://user:${secret}@one:27017,two:99999/leadscore`,
      `mongodb://user:${secret}@one,,two/leadscore`,
      `mongodb://localhost/leadscore@${secret}`,
    ],
    CONSOLE_URL: ['https://', 'https://example.com/leadscore', 'http://127.0.0.1:8081/leadscore/', 'https://one/?a'],
    BASE_URL: ['https:', 'https://', 'https:scoring.example.com', `https://one/?key=${secret}`, 'https://one#a'],
    DOCS_URL: ['https:', 'https://one/?', 'ftp://one'],
    PORT: [' ', '0x50', '8e3', '80.0', '+80', '65536'],
    CLOCK_OFFSET_MS: ['-', '1e3'],
    KEY_PEPPER_CHANGED: ['true', 'YES'],
    KEY_PEPPER_PREVIOUS: ['too short'],
    KEY_PEPPER: ['too short', ' '.repeat(20), `${' '.repeat(20)}a`],
  };
  for (const [name, values] of Object.entries(wrong))
    for (const value of values)
      it(`refuses ${name}=${JSON.stringify(value)}, naming the variable and showing no password`, () => {
        expect(refusal({ [name]: value }))
          .to.match(new RegExp(`^${name} (must|cannot)`))
          .and.not.include(secret);
      });

  const right: Readonly<Record<string, readonly string[]>> = {
    REDIS_URL: [
      'redis://127.0.0.1:6379',
      'redis://cache',
      `redis://user:${secret}%2F@cache:6379/3?family=6`,
      'rediss://[::1]:6380/',
      'unix:/run/redis.sock',
      'unix:///run/redis.sock',
      `rediss-cluster://user:${secret}@one:7000, two:7000`,
      `redis-cluster://:${secret}#@one,[::1]:7000/`,
    ],
    MONGODB_URL: [
      'mongodb://127.0.0.1:27017/leadscore?replicaSet=rs0',
      'mongodb://localhost',
      'mongodb://%2Ftmp%2Fmongodb-27017.sock',
      `mongodb://user:${secret}%2F@[::1]:27017,localhost?tls=true`,
    ],
    CONSOLE_URL: ['http://localhost:8081', 'https://console.example.com/'],
    BASE_URL: ['http://localhost:8080', 'https://example.com/scoring/'],
    PORT: ['0', '8080'],
    CLOCK_OFFSET_MS: ['-1000'],
  };
  for (const [name, values] of Object.entries(right))
    for (const value of values)
      it(`accepts ${name}=${value}`, () => {
        expect(refusal({ KEY_PEPPER: 'x'.repeat(16), [name]: value })).to.equal('accepted');
      });

  it('accepts a MongoDB address with an @ in its options, as Azure has it', () => {
    const mongoUrl = `mongodb://user:${secret}%3D%3D@user.mongo.cosmos.azure.com:10255/?ssl=true&appName=@user@`;
    expect(readConfig({ KEY_PEPPER: 'x'.repeat(16), MONGODB_URL: mongoUrl }).mongoUrl).to.equal(mongoUrl);
  });

  it('requires KEY_PEPPER of a gateway, also when MongoDB is on this machine, and not of a command', () => {
    for (const environment of [{}, { MONGODB_URL: 'mongodb://127.0.0.1:27017/x' }]) {
      expect(refusal(environment)).to.match(/^KEY_PEPPER must be set/);
      expect(readOperatorConfig(environment)).to.include({ keyPepper: undefined });
    }
    expect(() => readOperatorConfig({ KEY_PEPPER: 'short' })).to.throw('KEY_PEPPER must have at least 16');
  });

  it('refuses a KEY_PEPPER_PREVIOUS that is KEY_PEPPER, or beside KEY_PEPPER_CHANGED=yes', () => {
    const [pepper, previous] = ['x'.repeat(16), 'y'.repeat(16)];
    const both = { KEY_PEPPER: pepper, KEY_PEPPER_PREVIOUS: previous };
    expect(readConfig(both)).to.include({ keyPepper: pepper, keyPepperPrevious: previous });
    expect(refusal({ ...both, KEY_PEPPER_PREVIOUS: pepper })).to.match(/^KEY_PEPPER_PREVIOUS is KEY_PEPPER: /);
    expect(refusal({ ...both, KEY_PEPPER_CHANGED: 'yes' })).to.include('set one of them');
  });
});
