-- A runner for specs without any framework: `nvim --headless -u NONE -l x_spec.lua`, exit code 1 when one fails.

local M = {}

local here = vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2))

--- The top folder of the repository.
M.repo = vim.fs.normalize(vim.fs.joinpath(here, '..', '..', '..'))

vim.opt.runtimepath:prepend(vim.fs.normalize(vim.fs.joinpath(here, '..')))

local failures = 0
local passed = 0

--- Fails with both values shown unless they are equal in depth.
---@param found any
---@param expected any
function M.equal(found, expected)
  if not vim.deep_equal(found, expected) then
    error(('found\n%s\nexpected\n%s'):format(vim.inspect(found), vim.inspect(expected)), 2)
  end
end

---@param name string a sentence
---@param test fun()
function M.it(name, test)
  local ok, problem = xpcall(test, debug.traceback)
  if ok then
    passed = passed + 1
  else
    failures = failures + 1
    print(('FAILED %s\n%s\n'):format(name, problem))
  end
end

--- Ends the run.
function M.finish()
  print(('%d passed, %d failed\n'):format(passed, failures))
  os.exit(failures == 0 and passed > 0 and 0 or 1)
end

---@param path string
---@return string
function M.read(path)
  local file = assert(io.open(path, 'rb'))
  local text = file:read('*a')
  file:close()
  return text
end

return M
