// The list of all tests. A test is a name, which says what must hold, and a function of the world (world.mjs).
export const tests = [];

export function test(name, run) {
  if (tests.some(other => other.name === name)) throw new Error(`two tests of one name: ${name}`);
  tests.push({name, run});
}
