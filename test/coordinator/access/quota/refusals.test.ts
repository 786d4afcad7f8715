import t from 'tap'
import { Refusals } from '../../../../coordinator/access/quota/refusals.ts'
import { queryUsage } from '../../../../coordinator/access/quota/usage-query.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

const AT = Date.UTC(2026, 10, 20, 12, 30)
const refusal = { at: AT, keyId: 'k', tenantId: 'one', model: 'm', isUnavailable: false }
const EVER = { from: 0, to: 1e14, groupBy: ['hour', 'tenant', 'model'] as const, limit: 10 }

t.test('refusals are added to the buckets of their hour, by tenant and model', async t => {
  const { records } = await temporaryStore(t)
  const refusals = new Refusals(records)
  refusals.count(refusal)
  refusals.count({ ...refusal, isUnavailable: true })
  await refusals.flush()
  refusals.count(refusal)
  refusals.count({ ...refusal, tenantId: 'two', model: '' })
  await refusals.flush()
  await refusals.flush()
  t.match(await queryUsage(records, EVER), [
    { hour: Date.UTC(2026, 10, 20, 12), tenant: 'one', model: 'm', refused: 2, unavailable: 1 },
    { tenant: 'two', model: '', refused: 1, unavailable: 0, ok: 0, failed: 0 },
  ])
})

t.test('refusals that the store does not take are written later', async t => {
  const { records } = await temporaryStore(t)
  let isFull = true
  const refusals = new Refusals({
    free: {
      write: (work, ...rest) =>
        isFull
          ? Promise.reject(new ShoalError('store_unavailable', 'disk full'))
          : records.free.write(work, ...rest),
    },
  })
  refusals.count(refusal)
  await t.rejects(refusals.flush(), { code: 'store_unavailable' })
  isFull = false
  await refusals.flush()
  t.match(await queryUsage(records, EVER), [{ refused: 1 }])
})
