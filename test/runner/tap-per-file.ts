import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'

const OF_FILE = '?file='
const tests = new Map<string, Test>()

/** Loads a test file so that what it imports as `tap` is the test that is given. */
export const loadWith = async (test: Test, file: string): Promise<void> => {
  const { href } = pathToFileURL(file)
  tests.set(href, test)
  await import(href)
}

/** The test of the file at the URL. */
export const testOf = (url: string): Test | undefined => tests.get(url)

registerHooks({
  resolve: (specifier, context, next) => {
    const { parentURL = '' } = context
    if (specifier !== 'tap' || !tests.has(parentURL)) return next(specifier, context)
    const url = `${import.meta.url}${OF_FILE}${encodeURIComponent(parentURL)}`
    return { url, format: 'module', shortCircuit: true }
  },
  load: (url, context, next) => {
    const [self, file] = url.split(OF_FILE)
    if (self !== import.meta.url || file === undefined) return next(url, context)
    const source = `import { testOf } from ${JSON.stringify(self)}
      export default testOf(${JSON.stringify(decodeURIComponent(file))})`
    return { source, format: 'module', shortCircuit: true }
  },
})
