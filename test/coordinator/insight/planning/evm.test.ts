import fc from 'fast-check'
import t from 'tap'
import { computeEarnedValue } from '../../../../coordinator/insight/planning/evm.ts'

const forecastOf = (found: ReturnType<typeof computeEarnedValue>, wanted: string) =>
  found.forecasts.find(({ method }) => method === wanted)

t.test('the fence of the textbook has its published metrics', async t => {
  // R. Mulcahy, PMP Exam Prep, cost management: a fence of four sides, planned at one day and 1000
  // for each, after three days; the book calculates with a CPI that is rounded to 0.893
  const found = computeEarnedValue({ bac: 4000, pv: 3000, ev: 2500, ac: 2800 })
  t.equal(found.cv, -300)
  t.equal(found.sv, -500)
  t.equal(found.cpi?.toFixed(3), '0.893')
  t.equal(found.spi?.toFixed(3), '0.833')
  const { eac, etc, vac } = forecastOf(found, 'cpi') ?? {}
  t.ok(Math.abs((eac as number) - 4479) <= 1, `EAC ${eac}`)
  t.ok(Math.abs((etc as number) - 1679) <= 1, `ETC ${etc}`)
  t.ok(Math.abs((vac as number) - -479) <= 1, `VAC ${vac}`)
})

t.test('each method of the estimate at completion follows its formula', async t => {
  const found = computeEarnedValue({ bac: 1000, pv: 500, ev: 400, ac: 500, etcBottomUp: 750 })
  t.match(found, { cpi: 0.8, spi: 0.8, complete_percent: 40, planned_percent: 50 })
  t.match(found, { spent_percent: 50, cv_percent: -25, sv_percent: -20, tcpi_bac: 1.2 })
  for (const [method, eac, tcpi] of [
    ['cpi', 1250, 0.8],
    ['budget', 1100, 1],
    ['cpi_spi', 1437.5, 0.64],
    ['bottom_up', 1250, 0.8],
  ] as const)
    t.match(forecastOf(found, method), { eac, etc: eac - 500, vac: 1000 - eac, tcpi }, method)
  t.strictSame(found.reasons, {})
})

t.test('a metric whose divisor is zero is null with a reason', async t => {
  for (const [title, input, names] of [
    ['before the start', { bac: 100, pv: 0, ev: 0, ac: 0 }, ['cpi', 'spi', 'forecasts.cpi.eac']],
    ['nothing spent', { bac: 100, pv: 50, ev: 40, ac: 0 }, ['cpi', 'forecasts.cpi_spi.eac']],
    ['nothing planned', { bac: 100, pv: 0, ev: 10, ac: 5 }, ['spi', 'sv_percent']],
    ['nothing done', { bac: 100, pv: 50, ev: 0, ac: 20 }, ['cv_percent', 'forecasts.cpi.eac']],
    ['no budget', { bac: 0, pv: 0, ev: 0, ac: 10 }, ['complete_percent', 'spent_percent']],
    ['budget spent', { bac: 100, pv: 100, ev: 90, ac: 100 }, ['tcpi_bac']],
    ['budget exceeded', { bac: 100, pv: 100, ev: 90, ac: 120 }, ['tcpi_bac']],
    ['no new estimate', { bac: 100, pv: 50, ev: 50, ac: 50 }, ['forecasts.bottom_up.eac']],
  ] as const) {
    const { reasons } = computeEarnedValue(input)
    for (const name of names) t.match(reasons[name], /\w/, `${title}: ${name}`)
  }
})

t.test('no metric is infinite, and every null metric has a reason', async () => {
  const amount = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1e15, noNaN: true }))
  fc.assert(
    fc.property(amount, amount, amount, amount, (bac, pv, ev, ac) => {
      const { forecasts, reasons, ...metrics } = computeEarnedValue({ bac, pv, ev, ac })
      const named = [
        ...Object.entries(metrics),
        ...forecasts.flatMap(({ method, formula, ...each }) =>
          Object.entries(each).map(([name, value]) => [`forecasts.${method}.${name}`, value]),
        ),
      ] as [string, number | null][]
      for (const [name, value] of named) {
        if (value !== null && !Number.isFinite(value)) return false
        if ((value === null) !== (reasons[name] !== undefined)) return false
      }
      return true
    }),
  )
})
