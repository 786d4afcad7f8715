import t from 'tap'
import { addPriority, writesToJournal } from '../../shared/journal.ts'
import { createLogger } from '../../shared/logger.ts'

t.test('lines for the journal begin with the priority of their level', async t => {
  const lines: string[] = []
  const logger = createLogger({ level: 'debug' }, { write: line => void lines.push(line) })
  for (const level of ['debug', 'info', 'warn', 'error', 'fatal'] as const)
    logger[level](new Error('it failed'), level)
  t.strictSame(
    lines.map(line => addPriority(line).slice(0, 4)),
    ['<7>{', '<6>{', '<4>{', '<3>{', '<2>{'],
  )
  t.equal(addPriority('no line of a logger\n'), 'no line of a logger\n')
})

t.test('only an output that systemd has connected to the journal is taken for it', async t => {
  const output = { dev: 9, ino: 1765053 }
  t.equal(writesToJournal({ JOURNAL_STREAM: '9:1765053' }, output), true)
  t.equal(writesToJournal({ JOURNAL_STREAM: '9:1' }, output), false, 'redirected to a file')
  t.equal(writesToJournal({}, output), false)
})
