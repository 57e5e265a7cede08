import { expect } from 'chai';
import { ownUrlOf } from '../../../api/http/server.js';

describe('the address of a gateway', () => {
  it('is one that can be opened, whatever host it listens on', () => {
    for (const [host, url] of [
      ['127.0.0.1', 'http://127.0.0.1:8080'],
      ['localhost', 'http://localhost:8080'],
      ['::1', 'http://[::1]:8080'],
      ['2001:db8::a', 'http://[2001:db8::a]:8080'],
      ['0.0.0.0', 'http://localhost:8080'],
      ['::', 'http://localhost:8080'],
    ] as const) {
      expect(ownUrlOf(host, 8080)).to.equal(url);
      expect(new URL(ownUrlOf(host, 8080)).origin).to.equal(url);
    }
  });
});
