import t from 'tap'
import { createLogger } from '../../shared/logger.ts'

const set = () => {
  const clock = { ms: 0 }
  const lines: Record<string, unknown>[] = []
  const write = (line: string) => void lines.push(JSON.parse(line))
  const limit = { lines: 2, windowMs: 1000, nowMs: () => clock.ms }
  return { clock, lines, logger: createLogger({ level: 'info' }, { write }, limit) }
}

t.test('the log', async t => {
  t.test('limits the lines of one warning and reports how many were suppressed', async t => {
    const { clock, lines, logger } = set()
    for (let cell = 0; cell < 5; cell++) logger.warn({ cell }, 'refused')
    logger.warn({ cell: 9 }, 'another')
    clock.ms = 1000
    logger.warn({ cell: 7 }, 'refused')
    t.strictSame(
      lines.map(({ msg, cell, suppressed }) => [msg, cell, suppressed]),
      [
        ['refused', 0, undefined],
        ['refused', 1, undefined],
        ['another', 9, undefined],
        ['refused', 7, 3],
      ],
    )
  })

  t.test('writes a warning that another line explains at debug, without its stack', async t => {
    const lines: Record<string, unknown>[] = []
    const write = (line: string) => void lines.push(JSON.parse(line))
    const isExplained = (error: unknown) => (error as Error).message === 'away'
    const logger = createLogger({ level: 'debug', isExplained }, { write })
    logger.error({ err: new Error('away'), job: 1 }, 'failed')
    logger.error({ err: new Error('broken') }, 'failed')
    t.match(lines, [
      { level: 20, reason: 'away', job: 1, err: undefined },
      { level: 50, err: { stack: String } },
    ])
  })

  t.test('writes info lines in full', async t => {
    const { lines, logger } = set()
    for (let cell = 0; cell < 5; cell++) logger.info({ cell }, 'cell changed')
    t.equal(lines.length, 5)
  })

  t.test('never writes a secret', async t => {
    const { lines, logger } = set()
    logger.info({ token: 'canary', cell: { credential: 'canary', x: { password: 'canary' } } }, 'x')
    t.notMatch(JSON.stringify(lines), /canary/)
  })

  t.test('writes a plain line, and an error with its stack', async t => {
    const { lines, logger } = set()
    logger.info('plain')
    logger.error({ err: new Error('broken') }, 'failed')
    t.match(lines, [
      { msg: 'plain' },
      { msg: 'failed', err: { message: 'broken', stack: /Error/ } },
    ])
  })
})
