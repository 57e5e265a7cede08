import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import fc from 'fast-check';
import { PartPlaces } from '../../../../api/bulk/reading/part-places.js';
import { type ParsedRow, parseRows } from '../../../../api/bulk/rows/parse-rows.js';
import { RowReader } from '../../../../api/bulk/rows/row-reader.js';
import { sliceId, type UploadRange } from '../../../../shared/store/jobs/job-documents.js';
import type { SliceStore } from '../../../../shared/store/jobs/job-slices.js';
import type { JobUploadStore, PartPlace } from '../../../../shared/store/jobs/job-uploads.js';
import { knownFields, type ReadWith, readAll } from './file-rig.js';

type Read = Awaited<ReturnType<typeof readAll>>;

/** All that a reader of the file sees of its rows. */
async function rowsOf({ raw, texts, shape }: Read): Promise<ParsedRow[][]> {
  const parsed = raw.map(({ first_row: row, first_line: line }, index) =>
    parseRows(Buffer.from(texts[index] ?? ''), { shape, knownFields }, { row, line }),
  );
  return await Promise.all(parsed);
}

const about = ({ raw }: Read) => raw.map(({ input: _, ...slice }) => slice);

describe('slices whose rows stay in the upload', () => {
  const expectSameRows = async (file: string | Uint8Array, how: ReadWith): Promise<void> => {
    const read = (bytes: string | Uint8Array) => readAll(bytes, how).catch(({ message }: Error) => message);
    const [stored, inPlace] = [await read(gzipSync(file)), await read(file)];
    if (typeof stored === 'string' || typeof inPlace === 'string') {
      expect(inPlace).to.equal(stored);
      return;
    }
    expect(stored.raw.every(({ input }) => input !== undefined)).to.equal(true);
    expect(inPlace.raw.every(({ input }) => input === undefined)).to.equal(true);
    expect(about(inPlace)).to.deep.equal(about(stored));
    expect(await rowsOf(inPlace)).to.deep.equal(await rowsOf(stored));
    const { raw: ofInPlace, texts: inPlaceTexts, progress: inPlaceProgress, ...rest } = inPlace;
    const { raw, texts, progress, isInPlace, ...others } = stored;
    expect(rest).to.deep.equal({ ...others, isInPlace: true });
  };

  it('have the rows that stored ones have, in any text, for any size of slice and piece', async () => {
    const csv = fc.string({
      unit: fc.constantFrom('a', '1', ',', '"', '""', '\n', '\n', '\r\n', '\r', 'é', ' ', '\ufeff', '\x1a'),
      maxLength: 60,
    });
    const jsonl = fc.string({ unit: fc.constantFrom('{"Size":1}', '{}', 'x', '\n', '\n', '\r\n', '\r', ' ', '\x1a') });
    const limits = fc.record({
      rowsPerSlice: fc.integer({ min: 1, max: 4 }),
      sliceBytes: fc.constantFrom(1, 5, 12, 1_000),
    });
    await fc.assert(
      fc.asyncProperty(
        csv,
        jsonl,
        limits,
        fc.constantFrom('', '\ufeff'),
        fc.constantFrom(1, 3, 1_000),
        async (rows, lines, some, mark, chunkBytes) => {
          await expectSameRows(`${mark}\nSize,b\r\n${rows}`, { limits: some, chunkBytes });
          const format = { options: { format: 'jsonl' } } as const;
          await expectSameRows(`${mark}${lines}`, { ...format, limits: some, chunkBytes });
        },
      ),
      { numRuns: 150 },
    );
  });

  it('are those of plain UTF-8 alone', async () => {
    const text = 'Size\n1\n';
    const isInPlace = async (file: string | Uint8Array) => {
      const { raw, isInPlace: isSaid } = await readAll(file);
      expect(raw.map(({ input }) => input === undefined)).to.deep.equal([isSaid]);
      return isSaid;
    };
    expect(await isInPlace(text)).to.equal(true);
    expect(await isInPlace(`\ufeff${text}`)).to.equal(true);
    expect(await isInPlace(gzipSync(text))).to.equal(false);
    expect(await isInPlace(Buffer.from(`\ufeff${text}`, 'utf16le'))).to.equal(false);
  });

  it('are found in parts of any length, also when some were cut, and then as a blob', async () => {
    const jobId = 'job_parts';
    const lengths = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(lengths, fc.array(fc.nat(100), { maxLength: 20 }), async (partLengths, ends) => {
        const parts: (PartPlace & { readonly bytes: Buffer })[] = [];
        let length = 0;
        for (const [index, each] of partLengths.entries()) {
          const bytes = Buffer.from(Array.from({ length: each }, (_, at) => (length + at) % 251));
          parts.push({ number: 10_000_000 + index, offset: length, length: each, bytes });
          length += each;
        }
        const all = Buffer.concat(parts.map(({ bytes }) => bytes));
        const places = new PartPlaces();
        for (const part of parts) places.add(part);
        const positions = [...new Set(ends.map((end) => Math.floor((end * length) / 100)))].sort((a, b) => a - b);
        const ranges = positions.slice(1).map((to, index) => places.rangeOf({ from: positions[index] ?? 0, to }));
        const read: JobUploadStore['parts'] = async (id, { first, last }) => {
          expect(id).to.equal(jobId);
          return stored.filter(({ number }) => number >= first && number <= last);
        };
        const blobs = { read: async () => gzipSync('of a blob') } as Partial<SliceStore> as SliceStore;
        const rowsOfRange = (range: UploadRange, index: number) =>
          new RowReader(blobs, { parts: read } as Partial<JobUploadStore> as JobUploadStore).rowsOf({
            _id: sliceId(jobId, index),
            range,
          });
        let stored = parts;
        for (const [index, range] of ranges.entries()) {
          expect(await rowsOfRange(range, index)).to.deep.equal(all.subarray(range.from, range.to));
          // As after the results of the slices before: their bytes are gone.
          const cut = range.from;
          stored = stored.flatMap((part) => {
            const gone = Math.max(0, cut - part.offset);
            return gone >= part.length
              ? []
              : { ...part, offset: part.offset + gone, length: part.length - gone, bytes: part.bytes.subarray(gone) };
          });
          expect(await rowsOfRange(range, index)).to.deep.equal(all.subarray(range.from, range.to));
        }
        stored = [];
        for (const [index, range] of ranges.entries())
          expect(String(await rowsOfRange(range, index))).to.equal('of a blob');
      }),
      { numRuns: 100 },
    );
  });

  it('read a part that they share once, also together, and a part whose read failed once more', async () => {
    let reads = 0;
    const uploads = {
      parts: async (_: string, { first }: { readonly first: number }) => {
        reads += 1;
        if (reads === 1) throw new Error('MongoDB does not answer');
        return [{ offset: 10 * first, bytes: Buffer.alloc(10, first) }];
      },
    } as Partial<JobUploadStore> as JobUploadStore;
    const reader = new RowReader({} as SliceStore, uploads);
    const rows = (from: number, to: number) => {
      const [first_part, last_part] = [Math.floor(from / 10), Math.floor((to - 1) / 10)];
      return reader.rowsOf({ _id: sliceId('job_once', 0), range: { from, to, first_part, last_part } });
    };
    expect(await rows(0, 5).catch(({ message }: Error) => message)).to.equal('MongoDB does not answer');
    const all = await Promise.all([rows(0, 3), rows(3, 8), rows(8, 14), rows(14, 21)]);
    expect(all.map((each) => [...each].join(''))).to.deep.equal(['000', '00000', '001111', '1111112']);
    expect(reads).to.equal(4);
    // A long way on, the first parts are no longer kept.
    for (let from = 30; from < 120; from += 10) await rows(from, from + 10);
    expect(reads).to.equal(13);
    await rows(0, 3);
    expect(reads).to.equal(14);
  });

  it('are refused when their rows are neither in the upload nor a blob', async () => {
    const blobs = { read: async () => undefined } as Partial<SliceStore> as SliceStore;
    const uploads = { parts: async () => [] } as Partial<JobUploadStore> as JobUploadStore;
    const range = { from: 0, to: 3, first_part: 0, last_part: 0 };
    for (const slice of [{ range }, {}]) {
      const rows = new RowReader(blobs, uploads).rowsOf({ _id: sliceId('job_none', 0), ...slice });
      expect(await rows.catch(({ message }: Error) => message)).to.equal(
        `the rows of the slice ${sliceId('job_none', 0)} are missing`,
      );
    }
  });
});
