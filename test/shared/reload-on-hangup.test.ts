import { EventEmitter } from 'node:events'
import t from 'tap'
import { reloadOnHangup } from '../../shared/reload-on-hangup.ts'

t.test(
  'each listener gets the configuration that a SIGHUP finds, and a fault changes nothing',
  t => {
    const source = new EventEmitter()
    const logged: unknown[] = []
    const logger = {
      warn: (...line: unknown[]) => void logged.push(line.at(-1)),
      error: (...line: unknown[]) => void logged.push(...line),
    }
    let text = '{"level":1}'
    const config = () => JSON.parse(text) as { level: number }
    const read = () => ({ action: 'run', config: config(), given: [] }) as const
    const onReload = reloadOnHangup(read, logger as never, source)
    source.emit('SIGHUP')
    t.match(logged.splice(0), [/nothing to reload/])

    const got: number[] = []
    onReload(({ level }) => void got.push(level))
    onReload(({ level }) => void got.push(10 * level))
    source.emit('SIGHUP')
    t.strictSame(got, [1, 10])
    text = '{'
    source.emit('SIGHUP')
    t.strictSame(got, [1, 10])
    t.match(logged, [{ reason: /JSON/ }, 'configuration not read again'])
    t.end()
  },
)
