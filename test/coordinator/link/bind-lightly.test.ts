import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import t from 'tap'
import { bindLightly } from '../../../coordinator/link/bind-lightly.ts'

/** A class of its own, so that Node's stays as it is. */
class Light extends AsyncResource {}
bindLightly(Light)

const where = new AsyncLocalStorage<string>()

t.test('a bound function runs in the context in which its resource was made', async t => {
  const seen = where.run('there', () => new Light('test')).bind(() => where.getStore())
  t.equal(
    where.run('here', () => seen()),
    'there',
  )
})

t.test(
  'it has the arguments and answers of the function itself, and throws its errors',
  async t => {
    const bound = new Light('test').bind((a: number, b: number) => {
      if (a === 0) throw new RangeError('zero')
      return a - b
    })
    t.equal(bound(5, 3), 2)
    t.throws(() => bound(0, 1), new RangeError('zero'))
  },
)

t.test('`this` is what was given, or else what it is called on', async t => {
  const light = new Light('test')
  const given = light.bind.call(light, nameOf, ...GIVEN)
  const own = { name: 'own', tell: light.bind(nameOf) }
  t.strictSame([own.tell(), given()], ['own', 'given'])
})

/** The types of Node leave out that `bind` takes it. */
const GIVEN = [{ name: 'given' }] as unknown as []

function nameOf(this: { name: string }): string {
  return this.name
}
