import { expect } from 'chai';
import { type TextForm, utf8Pieces } from '../../../../shared/files/reading/text-pieces.js';

async function textOf(pieces: readonly string[]): Promise<string> {
  const form: TextForm = { hasMark: false, encoding: 'utf-8' };
  const sent = (async function* () {
    for (const piece of pieces) yield Buffer.from(piece);
  })();
  let text = '';
  for await (const piece of utf8Pieces(sent, form)) text += String(piece);
  return text;
}

describe('the text of a file', () => {
  it('ends at a Ctrl-Z after which only others and line ends follow, in any pieces', async () => {
    for (const end of ['\x1a', '\x1a\r\n', '\x1a\x1a\n\x1a', '\x1a'.repeat(127)]) {
      expect(await textOf([`a\n${end}`]), JSON.stringify(end)).to.equal('a\n');
      expect(await textOf(['a', ...`\n${end}`]), JSON.stringify(end)).to.equal('a\n');
    }
    expect(await textOf(['\x1a'])).to.equal('');
  });

  it('goes on after a Ctrl-Z that text follows', async () => {
    for (const pieces of [['a\x1ab\n'], ['a\x1a', 'b\n'], ['a', '\x1a', '\x1a\n', '\n', 'b\n\n']])
      expect(await textOf(pieces)).to.equal(pieces.join(''));
  });

  it('is not held back by more of them than a block of a disk has', async () => {
    const many = '\x1a'.repeat(10_000);
    expect(await textOf([many, many])).to.equal('\x1a'.repeat(2 * 10_000 - 1024));
  });
});
