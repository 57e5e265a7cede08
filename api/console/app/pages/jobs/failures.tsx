import type { jobFailuresOutput } from '../../../../../shared/admin/schemas/jobs.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { countText } from '../../parts/formats.js';
import { Card, Load } from '../../parts/page.js';
import { Table } from '../../parts/table.js';
import { useLoad } from '../../server/use-load.js';

/** The failed rows by their reasons, each with its first rows. */
export function Failures({ path, failed }: { readonly path: string; readonly failed: number }) {
  // A running job has more failed rows from time to time: they are read again when their number has doubled.
  const step = Math.floor(Math.log2(failed));
  const failures = useLoad<ShapeOf<typeof jobFailuresOutput>>(`${path}/failures#${step}`);
  return (
    <Card
      title="Errors"
      about="Rows that failed are not counted. Correct them in a file of their own, and score that file."
    >
      <Load of={failures}>
        {({ kinds, read }) => (
          <>
            <Table
              label="Errors by reason"
              columns={['Reason', 'Rows', 'First rows']}
              rows={kinds.map(({ reason, rows, first }) => [
                reason,
                countText(rows),
                <ul key="first" class="small">
                  {first.map(({ row, line, crm_id: crmId, message }) => (
                    <li key={row}>
                      Line {line}
                      {crmId && `, ${crmId}`}: {message}
                    </li>
                  ))}
                </ul>,
              ])}
            />
            {read < failed && <p class="small soft">The first {countText(read)} of the failed rows.</p>}
          </>
        )}
      </Load>
    </Card>
  );
}
