import hooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

/**
 * A hook that does nothing, preloaded by `npm test`. tap follows every promise of a test with an
 * async hook, to attribute an uncaught error to its test, which is a third of the CPU time of a
 * test that uses a store. Without the hook an uncaught error ends the process, and the file fails
 * with its stack.
 */
const noHook = { enable: () => noHook, disable: () => noHook }
hooks.createHook = () => noHook
syncBuiltinESMExports()
