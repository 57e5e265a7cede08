import type { outcomesSchema } from '../../../../../shared/admin/schemas/outcomes.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { instantText } from '../../parts/formats.js';
import { Card } from '../../parts/page.js';
import { useSome } from '../../parts/some.js';
import { Table } from '../../parts/table.js';
import { gateTitles, VerdictBadge } from '../../parts/verdict.js';
import { useOrganisation } from '../../server/session.js';
import { GateState } from '../models/gates.js';

export type Outcomes = ShapeOf<typeof outcomesSchema>;
type Model = Outcomes['models'][number];

/** Whether a model was graded since an earlier reading of it. */
const isGradedSince = (before: Model, now: Model | undefined): boolean => now?.graded_at !== before.graded_at;

/** Whether a model waits for the grade that counts the sent outcomes. */
export const waitsForGrade = (before: Outcomes, now: Outcomes): boolean =>
  before.models.some(
    (model) => model.next_grade_at !== undefined && !isGradedSince(model, modelOf(now, model.model_id)),
  );

const modelOf = ({ models }: Outcomes, id: string): Model | undefined => models.find(({ model_id }) => model_id === id);

/** The gates of each model before the sent outcomes and now. Without `before`, the gates now. */
export function GateMoves({ before, now }: { readonly before: Outcomes | undefined; readonly now: Outcomes }) {
  const graded = now.models.filter(({ next_grade_at }) => next_grade_at !== undefined);
  const { shown, more } = useSome(graded, { words: 'models' });
  const { base } = useOrganisation();
  if (graded.length === 0) return null;
  return (
    <Card
      title={before ? '4. See the gates move' : 'Gates of each model'}
      about="Outcomes decide whether a model passes. A grade counts them a minute after they arrive. A model that was graded in the 15 minutes before waits for half an hour at most."
    >
      {shown.map((model) => {
        const earlier = before && modelOf(before, model.model_id);
        const isNew = earlier && isGradedSince(earlier, model);
        return (
          <section key={model.model_id} aria-label={`Gates of ${model.name}`}>
            <p>
              <a href={`${base}/models/${encodeURIComponent(model.model_id)}`}>
                <strong>{model.name}</strong>
              </a>{' '}
              {earlier && isNew && (
                <>
                  <VerdictBadge state={earlier.validation.state} /> →{' '}
                </>
              )}
              <VerdictBadge state={model.validation.state} />
            </p>
            <p class="small soft">
              {isNew
                ? `Graded ${instantText(model.graded_at)}, with the sent outcomes.`
                : `${model.graded_at === undefined ? 'Not graded yet' : `Graded ${instantText(model.graded_at)}`}. New outcomes count from ${instantText(earlier?.next_grade_at ?? model.next_grade_at)} on, 15 minutes later at most.`}
            </p>
            {before && <GateTable before={earlier} now={model} isNew={isNew === true} />}
          </section>
        );
      })}
      {more}
    </Card>
  );
}

function GateTable(props: { readonly before: Model | undefined; readonly now: Model; readonly isNew: boolean }) {
  const { before, now, isNew } = props;
  return (
    <Table
      label={`Gates of ${now.name}, before and after`}
      columns={['Gate', 'Before', 'After']}
      rows={now.gates.map((gate) => {
        const earlier = before?.gates.find((each) => each.gate === gate.gate);
        return [
          gateTitles[gate.gate],
          earlier ? <GateState key="before" of={earlier} /> : '–',
          isNew ? <GateState key="after" of={gate} /> : 'with the next grade',
        ];
      })}
    />
  );
}
