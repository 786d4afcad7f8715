import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'

const shared = join(resolve(import.meta.dirname, '..', '..'), 'shared')

/** The end of a program that has asked for its end in a millisecond, and what it said. */
const endOf = async (body: string) => {
  const source = `
    import { endForSure } from ${JSON.stringify(join(shared, 'end-for-sure.ts'))}
    endForSure({ warn: ({ open }) => console.log(JSON.stringify(open)) }, 1)
    ${body}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  return { said, code }
}

t.test('a program that does not exit by itself is ended and logs its open resources', async t => {
  const { said, code } = await endOf('setInterval(() => {}, 60_000)')
  t.equal(code, 70)
  t.match(JSON.parse(said), ['Timeout'])
  const done = await endOf('process.exitCode = 0; setInterval(() => {}, 60_000)')
  t.equal(done.code, 0, 'what it has decided on stays')
})

t.test('a program that exits by itself is not delayed', async t => {
  t.strictSame(await endOf(''), { said: '', code: 0 })
})
