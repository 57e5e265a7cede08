import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { refuseOtherKinds } from '../../../../shared/files/reading/file-kinds.js';

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const zip = (name: string, content = ''): Buffer =>
  latin1(`PK\x03\x04\x14\0\0\0\0\0${'\0'.repeat(20)}${name}${content}`);
const table = 'Export the table that it shows as CSV in UTF-8';
const save = 'Save it as CSV in UTF-8';

/** First bytes of files, with their kind and the remedy. */
const kinds: readonly (readonly [bytes: Buffer, name: string, advice: string])[] = [
  [gzipSync('a,b\n'), 'compressed twice with gzip', 'Unpack it: gzip -dc FILE > UNPACKED'],
  [latin1('BZh91AY&SY\xe5\xc7[h\0\0'), 'compressed with bzip2', 'Unpack it: bzip2 -dc FILE > UNPACKED'],
  [latin1('(\xb5/\xfd$\x05)\0\0'), 'compressed with Zstandard', 'Unpack it: zstd -dc FILE > UNPACKED'],
  [latin1('\xfd7zXZ\0\0\x04\xe6'), 'compressed with xz', 'Unpack it: xz -dc FILE > UNPACKED'],
  [latin1("7z\xbc\xaf'\x1c\0\x04"), 'a 7z archive', 'Unpack it: 7z x FILE'],
  [latin1('Rar!\x1a\x07\x01\0'), 'a RAR archive', 'Unpack it: unrar x FILE'],
  [latin1(`leads.csv${'\0'.repeat(248)}ustar\x0000`), 'a tar archive', 'Unpack it: tar -xf FILE'],
  [zip('leads.csv', 'crm_id'), 'a ZIP archive', 'Unpack it: unzip FILE'],
  [zip('files_xl/leads.csv', 'crm_id'), 'a ZIP archive', 'Unpack it: unzip FILE'],
  [latin1(`PK\x05\x06${'\0'.repeat(18)}`), 'a ZIP archive', 'Unpack it: unzip FILE'],
  [zip('[Content_Types].xml'), 'an Excel workbook', save],
  [zip('xl/worksheets/sheet1.xml'), 'an Excel workbook', save],
  [zip('mimetype', 'application/vnd.oasis.opendocument.spreadsheet'), 'an OpenDocument spreadsheet', save],
  [zip('Index/Document.iwa'), 'a spreadsheet of Numbers', save],
  [latin1('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0'), 'an Excel workbook', save],
  [
    latin1('PAR1\x15\x04\x15\x10'),
    'a Parquet file',
    `Convert it: python3 -c "import pandas; pandas.read_parquet('FILE').to_csv('leads.csv', index=False)"`,
  ],
  [latin1('%PDF-1.7\n%\xe2\xe3'), 'a PDF', table],
  [latin1('{\\rtf1\\ansi'), 'a Rich Text document', 'Save it as plain text in UTF-8'],
  [latin1('\x89PNG\r\n\x1a\n'), 'an image', table],
  [latin1('\xff\xd8\xff\xe0\0\x10JFIF'), 'an image', table],
];

describe('a file that is no text', () => {
  for (const [bytes, name, advice] of kinds)
    it(`is refused with its kind and the remedy: ${name}, ${JSON.stringify(bytes.toString('latin1', 0, 8))}`, () => {
      expect(() => refuseOtherKinds(bytes)).to.throw(`The file is ${name} (line 1, column 1). ${advice}`);
    });

  it('is not a text that begins with the same letters', () => {
    for (const text of [
      ...['BZh,crm_id', 'PAR1,PAR2', 'PK,id', 'Rar!,Size', '7z,Size', '%PDF,Size', '{"a":1}', 'ÿØ,Size', ''],
      `${'a'.repeat(256)},ustar`,
    ])
      for (const more of ['', '\nä,ö\n', '\r\n1,\x1b2\x1a'])
        expect(() => refuseOtherKinds(Buffer.from(text + more)), text).not.to.throw();
  });

  it('is known by the first 4 KiB', () => {
    const later = `PAR1${'a'.repeat(4092)}\0`;
    expect(() => refuseOtherKinds(latin1(later))).not.to.throw();
    expect(() => refuseOtherKinds(latin1(`PAR1${'a'.repeat(4091)}\0`))).to.throw('a Parquet file');
  });
});
