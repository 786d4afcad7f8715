import t from 'tap'
import {
  describeCheck,
  describeLimit,
  describeRequirement,
} from '../../shared/wire/describe-check.ts'

t.test('a failing check names the reading, what it must be, and the source', async t => {
  const describe = (name: string, observed: null | number | string, limit: object | number) =>
    describeCheck({ name, observed, limit: limit as number, holds: false, source: 'site' })
  t.equal(
    describe('battery_percent', 12, 20),
    'battery_percent is 12, but must be at least 20 (set by the site)',
  )
  t.equal(
    describe('altitude_m', null, { min: null, max: 30 }),
    'altitude_m is unknown or stale, but must be at most 30 (set by the site)',
  )
  t.match(
    describe('time_window', 'now', [{ days: ['mon'], from: '22:00', to: '06:00' }]),
    ['time_window is now, but must be within mon 22:00-06:00 UTC (set by the site)'].join(),
  )
})

t.test('a condition of a verb names the values that it refuses', t => {
  const limit = { property: 'landed_state', refused: ['in_air', 'landing'] }
  t.equal(
    describeCheck({ name: 'on_ground', observed: 'in_air', limit, holds: false, source: 'verb' }),
    'on_ground: landed_state is in_air, but must be not in_air or landing',
  )
  t.end()
})

t.test('a condition of a verb names its property and the allowed values', async t => {
  const limit = { property: 'printer_state', allowed: ['idle', 'finished'] }
  const check = { name: 'printer_idle', observed: 'printing', limit, holds: false, source: 'verb' }
  t.equal(
    describeCheck(check),
    'printer_idle: printer_state is printing, but must be idle or finished',
  )
  t.equal(describeLimit({ name: 'estop', limit: null }), undefined)
  t.equal(describeRequirement({ name: 'estop', limit: null }), undefined)
  t.equal(describeRequirement({ name: 'battery_percent', limit: 20 }), 'at least 20')
  t.equal(
    describeRequirement({ name: 'on_ground', limit: { property: 'is_flying', allowed: [false] } }),
    'is_flying is false',
  )
  t.equal(describeCheck({ ...check, limit: null, observed: 'e-stop est_1' }), 'e-stop est_1')
})
