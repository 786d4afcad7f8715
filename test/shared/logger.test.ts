import t from 'tap'
import { createLogger } from '../../shared/logger.ts'

const set = () => {
  const clock = { ms: 0 }
  const lines: Record<string, unknown>[] = []
  const write = (line: string) => void lines.push(JSON.parse(line))
  const limit = { lines: 2, linesOfAll: 4, windowMs: 1000, nowMs: () => clock.ms }
  return { clock, lines, logger: createLogger({ level: 'debug' }, { write }, limit) }
}

t.test('the log', async t => {
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    t.test(`limits the ${level} lines about one cell and counts the suppressed ones`, async t => {
      const { clock, lines, logger } = set()
      for (let n = 0; n < 5; n++) logger[level]({ cell: 'a' }, 'link failed')
      logger[level]({ cell: 'b' }, 'link failed')
      logger[level]({ cell: 'a' }, 'another')
      clock.ms = 1000
      logger[level]({ cell: 'a' }, 'link failed')
      t.strictSame(
        lines.map(({ msg, cell, suppressed }) => [msg, cell, suppressed]),
        [
          ['link failed', 'a', undefined],
          ['link failed', 'a', undefined],
          ['link failed', 'b', undefined],
          ['another', 'a', undefined],
          ['link failed', 'a', 3],
        ],
      )
    })

  t.test('limits the lines with one message about any number of cells', async t => {
    const { clock, lines, logger } = set()
    for (let n = 0; n < 9; n++) logger.info({ cell: `cell ${n}` }, 'cell changed')
    t.equal(lines.length, 4)
    clock.ms = 1000
    logger.info({ cell: 'another' }, 'cell changed')
    t.equal(lines[4]?.suppressed, 5)
  })

  t.test('counts the suppressed lines of a plain text', async t => {
    const { clock, lines, logger } = set()
    for (let n = 0; n < 5; n++) logger.info('plain')
    clock.ms = 1000
    logger.info('plain')
    t.match(lines.at(-1), { msg: 'plain', suppressed: 3 })
  })

  t.test('writes a warning that another line explains at debug, without its stack', async t => {
    const lines: Record<string, unknown>[] = []
    const write = (line: string) => void lines.push(JSON.parse(line))
    const isExplained = (error: unknown) => (error as Error).message === 'away'
    const logger = createLogger({ level: 'debug', isExplained }, { write })
    logger.error({ err: new Error('away'), job: 1 }, 'failed')
    logger.error({ err: new Error('broken') }, 'failed')
    t.match(lines, [
      { level: 'debug', time: /^20\d\d-.*Z$/, reason: 'away', job: 1, err: undefined },
      { level: 'error', err: { stack: String } },
    ])
  })

  t.test('never writes a secret', async t => {
    const { lines, logger } = set()
    logger.info({ token: 'canary', cell: { credential: 'canary', x: { password: 'canary' } } }, 'x')
    t.notMatch(JSON.stringify(lines), /canary/)
  })

  const random = 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V'
  for (const [what, secret] of Object.entries({
    'a key': `svc-dev-abcdefgh_${random}123456`,
    'a key without its end': `svc-dev-abcdefgh_${random}1234`,
    'a join token': `shl_join_abcdefgh_${random}123456`,
    'a claim token': `shl_claim_abcdefgh_${random}123456`,
    'the secret of a webhook': `whsec_${random}+/=`,
    'the credential of a cell': random,
    'a sealing key': Buffer.alloc(32, 'key').toString('base64'),
    'the password in an address': 'hunter2secret',
    'a Basic login': Buffer.from(`cell:${random}`).toString('base64'),
  }))
    t.test(`hides ${what} wherever it stands in a line`, async t => {
      const { lines, logger } = set()
      const text = what.includes('address')
        ? `postgres://shoal:${secret}@db.internal/shoal`
        : `${what.includes('Basic') ? 'Basic ' : ''}${secret}`
      const error = new Error(`refused: ${text}`, { cause: new Error(text) })
      logger.warn({ err: error, reason: text, deep: { list: [{ [text]: text }] } }, `odd ${text}`)
      logger.child({ topic: text }).info(text)
      t.equal(lines.length, 2)
      t.notOk(JSON.stringify(lines).includes(secret.slice(9, -2)))
      t.match(JSON.stringify(lines), /refused: .*\[redacted\]/)
    })

  t.test('hides a secret behind any white space and control character', async t => {
    const { lines, logger } = set()
    for (const space of [' ', '\n', '\t', '\r\n', '\f', '\b', '\u001b'])
      for (const secret of [random, `Bearer abcdefghijklmnop-Q1`])
        logger.info({ space }, `refused:${space}${secret}`)
    t.equal(lines.length, 14)
    for (const { msg } of lines) t.match(msg, /^refused:\s*.?\[redacted\]$/)
  })

  t.test('hides the password in an address whatever characters it has', async t => {
    const { lines, logger } = set()
    for (const password of ['pa/ssw0rd', 'p@ssw0rd', 'ssw0rd@', '/ssw0rd', 'ssw:0rd/+='])
      logger.info(`from redis://:${password}@a/1 to postgres://u:${password}@b/x`)
    t.equal(lines.length, 5)
    for (const { msg } of lines)
      t.equal(msg, 'from redis://:[redacted]@a/1 to postgres://u:[redacted]@b/x')
  })

  t.test('takes time in proportion to a hostile line', async t => {
    const { lines, logger } = set()
    // with a search that is quadratic in any of these, the test runs out of its time
    for (const piece of ['bearer ', 'authorization: bearer', '://a:', '://a:/', 'shl_join_', '\n'])
      logger.info(piece.repeat(2 ** 18))
    logger.info(`bearer${' '.repeat(2 ** 20)}`)
    t.equal(lines.length, 7)
  })

  t.test('keeps words that are no credential', async t => {
    const { lines, logger } = set()
    const words = ['basic authentication is required', 'Use Bearer Authentication.']
    for (const message of words) logger.info(message)
    logger.info('authorization: basic abcdefghijklmnop')
    t.strictSame(
      lines.map(({ msg }) => msg),
      [...words, 'authorization: [redacted]'],
    )
  })

  t.test('keeps ids, digests and addresses', async t => {
    const { lines, logger } = set()
    const facts = {
      cell: 'cell_0123456789abcdef',
      hash: 'ab'.repeat(32),
      url: 'https://a:7070/b@c',
      urls: 'http://a:80/@b/c@1,mqtt://[::1]:1883/d@e',
    }
    logger.info(facts, 'fact')
    t.match(lines, [facts])
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
