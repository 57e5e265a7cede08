import { expect } from 'chai';
import fc from 'fast-check';
import { callerAddressBehind, networkOf } from '../../../api/auth/client-ip.js';

const request = (remoteAddress: string | undefined, forwarded?: string) => ({
  socket: { remoteAddress },
  headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
});

describe('the address of a caller', () => {
  it('is the other end of the connection, whatever X-Forwarded-For says, where no proxy is trusted', () => {
    const addressOf = callerAddressBehind([]);
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6()), (forwarded) => {
        expect(addressOf(request('203.0.113.7', forwarded))).to.equal('203.0.113.7');
      }),
    );
  });

  it('is also that where a proxy is trusted and the connection is not from it', () => {
    const addressOf = callerAddressBehind(['10.0.0.0/8']);
    expect(addressOf(request('203.0.113.7', '198.51.100.1'))).to.equal('203.0.113.7');
  });

  it('is what the trusted proxies have written, and not what the caller put before it', () => {
    const addressOf = callerAddressBehind(['10.0.0.0/8', '2001:db8::/32', '192.0.2.1']);
    for (const [remote, forwarded, expected] of [
      ['10.0.0.1', '203.0.113.7', '203.0.113.7'],
      ['10.0.0.1', '1.2.3.4, 203.0.113.7', '203.0.113.7'],
      ['10.0.0.1', '1.2.3.4,203.0.113.7,10.9.9.9, 192.0.2.1', '203.0.113.7'],
      ['::ffff:10.0.0.1', '203.0.113.7:4711', '203.0.113.7'],
      ['2001:db8::5', '[2a00::1]:443', '2a00::1'],
      ['10.0.0.1', 'unknown', '10.0.0.1'],
      ['10.0.0.1', '1.2.3.4, garbage, 10.0.0.2', '10.0.0.2'],
      ['10.0.0.1', '', '10.0.0.1'],
      ['10.0.0.1', undefined, '10.0.0.1'],
      ['10.0.0.1', '10.0.0.9', '10.0.0.9'],
      [undefined, '203.0.113.7', 'unknown'],
    ] as const)
      expect(addressOf(request(remote, forwarded)), `${remote} ${forwarded}`).to.equal(expected);
  });

  it('counts with the rest of its network where it is one of IPv6', () => {
    expect(networkOf('203.0.113.7')).to.equal('203.0.113.7');
    expect(networkOf('2001:db8:1:2:3:4:5:6')).to.equal('2001:db8:1:2');
    expect(networkOf('2001:0DB8:1:2::9')).to.equal('2001:db8:1:2');
    expect(networkOf('2001:db8::9')).to.equal('2001:db8:0:0');
    expect(networkOf('::1')).to.equal('0:0:0:0');
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        expect(networkOf(address).split(':')).to.have.length(4);
      }),
    );
  });
});
