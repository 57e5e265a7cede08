import { expect } from 'chai';
import { applyDiff } from '../support/entry/apply-diff.js';

describe('applyDiff', () => {
  const text = 'one\n\n  two\nthree\n  two\n';

  it('changes each hunk of a block', () => {
    expect(applyDiff(text, '+zero\n one\n@@ the end\n three\n-  two\n+  four\n')).to.equal(
      'zero\none\n\n  two\nthree\n  four\n',
    );
  });

  it('refuses a hunk that the text has twice or not at all, and a line without a sign', () => {
    expect(() => applyDiff(text, '-  two\n')).to.throw('found 2 times instead of once:\n  two');
    expect(() => applyDiff(text, '-four\n')).to.throw('found 0 times');
    expect(() => applyDiff(text, '+four\n')).to.throw('found no line');
    expect(() => applyDiff(text, 'one\n')).to.throw('begins with neither');
  });
});
