import { useState } from 'preact/hooks';
import { bytesText, percentText } from '../../parts/formats.js';
import { FileDrop } from '../../parts/forms/drop.js';
import { Card, Problem } from '../../parts/page.js';
import { readFileHead } from '../../server/file-head.js';
import { startUpload, useUpload } from '../../server/file-upload.js';
import { fileText, type JobPage } from './job-words.js';

/** The upload of a job in this tab, or the way to go on with one that began elsewhere. */
export function UploadCard({ job, path }: { readonly job: JobPage; readonly path: string }) {
  const upload = useUpload(path);
  const { bytes = 0, received, fingerprint } = job.upload;
  const [problem, setProblem] = useState<Error>();
  const [, setStartedAt] = useState(0);
  const take = async (file: File) => {
    setProblem(undefined);
    try {
      const { fingerprint: found } = await readFileHead(file);
      if (found !== fingerprint) throw otherFile(file, job);
      startUpload(path, file);
      setStartedAt(performance.now());
    } catch (error) {
      setProblem(error as Error);
    }
  };
  const isHere = upload !== undefined && upload.state !== 'stopped';
  const stored = upload === undefined ? received : Math.max(upload.stored, received);
  return (
    <Card title="Upload" about="The file is sent in pieces. Other pages of the console may be opened meanwhile.">
      <div role="status">
        <progress aria-label="Bytes uploaded" max={bytes} value={stored} />
        <p>
          {bytesText(stored)} of {bytesText(bytes)} ({percentText(bytes === 0 ? 0 : stored / bytes)}) are stored.
        </p>
        {upload?.state === 'waiting' && (
          <p class="note warn">{upload.problem?.message} The upload tries again by itself, and goes on where it was.</p>
        )}
      </div>
      {upload?.state === 'stopped' && upload.problem && <Problem problem={upload.problem} />}
      {!isHere && fingerprint !== undefined && (
        <FileDrop
          text={`Drop ${fileText(job)} here once more, or choose it: the upload goes on where it was.`}
          label="The same file"
          isDisabled={false}
          take={(file) => void take(file)}
        />
      )}
      {!isHere && fingerprint === undefined && (
        <p class="note">An API key began this upload. The program or command that began it can go on with it.</p>
      )}
      {problem && <Problem problem={problem} />}
    </Card>
  );
}

const otherFile = ({ name }: File, job: JobPage): Error =>
  new Error(
    `${name} is not the file of this job, or it has changed since the upload began. Choose ${fileText(job)} as it was, ` +
      'or cancel this job and make a new one.',
  );
