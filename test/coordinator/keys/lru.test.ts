import fc from 'fast-check'
import t from 'tap'
import { Lru } from '../../../coordinator/keys/lru.ts'

/** The same, written so that it is plainly right: pairs, the oldest first. */
const model = (capacity: number) => {
  let pairs: [number, number][] = []
  const without = (key: number) => pairs.filter(([each]) => each !== key)
  const get = (key: number) => {
    const found = pairs.find(([each]) => each === key)
    if (found !== undefined) pairs = [...without(key), found]
    return found?.[1]
  }
  return {
    get,
    set: (key: number, value: number) => {
      pairs = [...without(key), [key, value]]
      return pairs.length > capacity ? pairs.shift()?.[1] : undefined
    },
    delete: (key: number) => {
      pairs = without(key)
    },
    clear: () => {
      pairs = []
    },
    values: () => pairs.map(([, value]) => value),
    size: () => pairs.length,
  }
}

const key = fc.nat(6)
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('get' as const), key }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('set' as const), key, value: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('clear' as const) }) },
)

t.test('what was not used for longest goes, whatever was done before', async t => {
  const property = fc.property(
    fc.array(step, { maxLength: 60 }),
    fc.integer({ min: 1, max: 4 }),
    (steps, capacity) => {
      const [lru, right] = [new Lru<number, number>(capacity), model(capacity)]
      for (const each of steps) {
        if (each.do === 'get' && lru.get(each.key) !== right.get(each.key)) return false
        if (each.do === 'set' && lru.set(each.key, each.value) !== right.set(each.key, each.value))
          return false
        if (each.do === 'delete') for (const one of [lru, right]) one.delete(each.key)
        if (each.do === 'clear') for (const one of [lru, right]) one.clear()
        if (lru.size !== right.size() || `${lru.values()}` !== `${right.values()}`) return false
      }
      return true
    },
  )
  t.notOk(fc.check(property, { numRuns: 2000 }).failed)
})
