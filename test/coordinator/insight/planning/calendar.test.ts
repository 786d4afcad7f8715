import fc from 'fast-check'
import t from 'tap'
import { WEEKDAYS, WorkCalendar } from '../../../../coordinator/insight/planning/calendar.ts'

const WEEK = ['mon', 'tue', 'wed', 'thu', 'fri'] as const

t.test('working days skip weekends and holidays', async t => {
  // Easter 2027: Good Friday is 26 March, Easter Monday 29 March
  const holidays = ['2027-03-26', '2027-03-29', '2027-03-27', '2027-03-26', '2020-01-01']
  const calendar = new WorkCalendar('2027-03-24', { workingDays: WEEK, holidays })
  const dates = [0, 1, 2, 3, 4, 5].map(index => calendar.date(index))
  t.strictSame(dates, [
    ...['2027-03-24', '2027-03-25', '2027-03-30', '2027-03-31'],
    ...['2027-04-01', '2027-04-02'],
  ])
})

t.test('a project that starts on a day without work starts on the next working day', async t => {
  const calendar = new WorkCalendar('2027-03-27', { workingDays: WEEK, holidays: ['2027-03-29'] })
  t.equal(calendar.date(0), '2027-03-30')
})

t.test('a finish is on the last day of work, and a fraction of a day is a day', async t => {
  const calendar = new WorkCalendar('2027-03-01', { workingDays: WEEK, holidays: [] })
  for (const [days, finish, start] of [
    [0, '2027-03-01', '2027-03-01'],
    [0.5, '2027-03-01', '2027-03-01'],
    [1, '2027-03-01', '2027-03-02'],
    [5, '2027-03-05', '2027-03-08'],
    [5.1, '2027-03-08', '2027-03-08'],
    [0.1 + 0.2 + 4.7, '2027-03-05', '2027-03-08'],
  ] as const) {
    t.equal(calendar.finishDate(days), finish, `finish after ${days}`)
    t.equal(calendar.startDate(days), start, `start after ${days}`)
  }
})

t.test('working days before 1970 are those of the calendar', async t => {
  // 1960-01-01 was a Friday
  const calendar = new WorkCalendar('1960-01-01', { workingDays: WEEK, holidays: ['1960-01-05'] })
  const dates = [0, 1, 2].map(index => calendar.date(index))
  t.strictSame(dates, ['1960-01-01', '1960-01-04', '1960-01-06'])
})

t.test('a project that ends after the year 9999 is refused', async t => {
  const calendar = new WorkCalendar('2027-03-01', { workingDays: ['mon'], holidays: [] })
  t.throws(() => calendar.date(1_000_000), { code: 'invalid_request', param: 'start_date' })
})

t.test('dates are those of a walk from day to day', async () => {
  const start = Date.parse('2027-01-01')
  const at = (days: number): string =>
    new Date(start + days * 86_400_000).toISOString().slice(0, 10)
  fc.assert(
    fc.property(
      fc.subarray([...WEEKDAYS], { minLength: 1 }),
      fc.array(fc.integer({ min: -10, max: 80 }), { maxLength: 20 }),
      (workingDays, off) => {
        const holidays = off.map(at)
        const calendar = new WorkCalendar(at(0), { workingDays, holidays })
        const walked = Array.from({ length: 200 }, (_, day) => at(day)).filter(date => {
          const weekday = WEEKDAYS[
            (new Date(date).getUTCDay() + 6) % 7
          ] as (typeof WEEKDAYS)[number]
          return workingDays.includes(weekday) && !holidays.includes(date)
        })
        return walked.every((date, index) => calendar.date(index) === date)
      },
    ),
  )
})
