import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'

const logger = join(resolve(import.meta.dirname, '..', '..'), 'shared', 'logger.ts')

/** A program that logs; it hears `go` when its standard input ends. */
const program = (body: string) =>
  `import { createLogger } from ${JSON.stringify(logger)}
   const logger = createLogger({ level: 'info' })
   const go = new Promise(resolve => process.stdin.on('end', resolve).resume())
   ${body}`

const start = (t: Test, body: string, stdout: 'pipe' | number = 'pipe') => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program(body)], {
    stdio: ['pipe', stdout, 'inherit', 'ipc'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

t.test('the output of a log', async t => {
  t.test('is flushed to the last line when the process exits', async t => {
    const child = start(
      t,
      `
      for (let line = 0; line < 5000; line++) logger.info({ line }, 'line ' + line)
      process.exit(3)`,
    )
    const [said, [code]] = await Promise.all([
      text(child.stdout as NodeJS.ReadableStream),
      once(child, 'close'),
    ])
    t.equal(code, 3)
    const lines = said.trimEnd().split('\n')
    t.strictSame(
      lines.map(line => JSON.parse(line).line),
      Array.from({ length: 5000 }, (_, line) => line),
    )
  })

  t.test('does not delay the exit of a process whose reader has left', async t => {
    const child = start(
      t,
      `
      await go
      logger.info('the first is on its way')
      logger.info('the others wait')
      process.exit(3)`,
    )
    child.stdout?.destroy()
    await once(child.stdout as NodeJS.ReadableStream, 'close')
    child.stdin?.end()
    t.strictSame(await once(child, 'exit'), [3, null])
  })

  t.test('does not delay the exit of a process whose reader has stalled', async t => {
    const folder = await mkdtemp(join(tmpdir(), 'shoal-log-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const path = join(folder, 'pipe')
    execFileSync('mkfifo', [path])
    // read and write: it has a reader, which never reads
    const pipe = openSync(path, constants.O_RDWR)
    t.teardown(() => closeSync(pipe))
    const child = start(
      t,
      `
      for (let line = 0; line < 5000; line++) logger.info({ line }, 'line ' + line)
      await new Promise(setImmediate)
      logger.info('the last')
      process.exit(3)`,
      pipe,
    )
    t.strictSame(await once(child, 'exit'), [3, null])
  })

  t.test('is complete for a slow reader of a pipe', async t => {
    const said = `for (let line = 0; line < 5000; line++) logger.info({ line }, 'line ' + line)`
    const child = spawn(
      'sh',
      [
        '-c',
        '"$0" --input-type=module -e "$1" | (sleep 0.1; cat)',
        process.execPath,
        program(said),
      ],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    )
    t.teardown(() => child.kill('SIGKILL'))
    child.stdin.end()
    const lines = (await text(child.stdout)).trimEnd().split('\n')
    t.strictSame(
      lines.map(line => JSON.parse(line).line),
      Array.from({ length: 5000 }, (_, line) => line),
    )
  })

  t.test('loses lines, not the process, on a full disk', async t => {
    const full = openSync('/dev/full', 'w')
    t.teardown(() => closeSync(full))
    const child = start(
      t,
      `for (let line = 0; line < 100; line++) {
         logger.info('said')
         await new Promise(setImmediate)
       }
       logger.info('the last')
       process.exit(3)`,
      full,
    )
    t.strictSame(await once(child, 'exit'), [3, null])
  })

  t.test('uses bounded memory while its reader has stalled', async t => {
    const child = start(
      t,
      `
      const text = 'x'.repeat(10_000)
      for (let line = 0; line < 10_000; line++) logger.info({ text }, 'line ' + line)
      process.send('all said')
      await go
      process.exit(3)`,
    )
    await once(child, 'message')
    child.stdin?.end()
    const [said, [code]] = await Promise.all([
      text(child.stdout as NodeJS.ReadableStream),
      once(child, 'close'),
    ])
    t.equal(code, 3)
    t.ok(said.length > 1e6 && said.length < 2e6, `${said.length} of 100,000,000 are kept`)
  })
})
