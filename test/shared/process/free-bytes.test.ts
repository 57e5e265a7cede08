import { expect } from 'chai';
import { freeBytes } from '../../../shared/process/free-bytes.js';
import { leaveOut } from '../../support/leave-out.js';

describe('freeing bytes', () => {
  it('frees memory that no other bytes share', function () {
    if (!('transfer' in ArrayBuffer.prototype)) leaveOut(this, 'Node 20 cannot free memory', 'use Node 22 or 24');
    const bytes = Buffer.allocUnsafeSlow(1_000);
    freeBytes(bytes);
    expect(bytes).to.have.lengthOf(0);
    expect(bytes.buffer.byteLength).to.equal(0);
  });

  it('leaves bytes that share their memory', () => {
    const whole = Buffer.alloc(1_000, 'a');
    freeBytes(whole.subarray(0, 999));
    freeBytes(whole.subarray(1));
    const short = Buffer.from('from the pool of Node');
    freeBytes(short);
    expect(whole.toString()).to.equal('a'.repeat(1_000));
    expect(short.toString()).to.equal('from the pool of Node');
  });

  it('accepts bytes that are free, and empty ones', () => {
    const bytes = Buffer.allocUnsafeSlow(1_000);
    freeBytes(bytes);
    expect(() => freeBytes(bytes)).not.to.throw();
    expect(() => freeBytes(Buffer.alloc(0))).not.to.throw();
  });
});
