import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'

const tests = new Map<string, Test>()

/** Loads a test file so that what it imports as `tap` is the test that is given. */
export const loadWith = async (test: Test, file: string): Promise<void> => {
  const { href } = pathToFileURL(file)
  tests.set(href, test)
  await import(href)
}

/** The test of the file at the URL. */
export const testOf = (url: string): Test | undefined => tests.get(url)

const OF_FILE = new URL('tap-of-file.ts', import.meta.url)

// a hook for `load` would cost every module of a process that loads thousands
registerHooks({
  resolve: (specifier, context, next) => {
    const { parentURL = '' } = context
    if (specifier !== 'tap' || !tests.has(parentURL)) return next(specifier, context)
    const { href } = new URL(`?file=${encodeURIComponent(parentURL)}`, OF_FILE)
    return { url: href, format: 'module-typescript', shortCircuit: true }
  },
})
