-- Work for the markers in Lua: tables, strings, sorting, arithmetic, patterns, garbage.
local function primes(n)
  local sieve, found = {}, {}
  for i = 2, n do sieve[i] = true end
  for i = 2, n do
    if sieve[i] then
      found[#found + 1] = i
      for j = i * i, n, i do sieve[j] = nil end
    end
  end
  return found
end

local state = 42
local function random(n)
  state = (state * 1103515245 + 12345) % 2147483648
  return state // 7 % n + 1
end

local function words(n)
  local out = {}
  for i = 1, n do
    local word = ""
    for _ = 1, random(8) do word = word .. string.char(96 + random(26)) end
    table.insert(out, random(#out + 1), word .. "-" .. i)
  end
  return out
end

local total = 0
for round = 1, 3 do
  local list = primes(2000 + round * 100)
  total = total + #list
  local all = words(150)
  table.sort(all)
  table.sort(all, function(a, b) return #a == #b and a > b or #a < #b end)
  local text = table.concat(all, " ")
  for word, number in text:gmatch("(%a+)-(%d+)") do
    total = total + tonumber(number) - (-#word % 5) + (-#word // 3)
  end
  total = total + #text:gsub("%a+", string.upper):rep(3, ","):sub(10, -20)
  local sparse = {}
  for i = 1, 300 do sparse[i * random(5)] = { i, tostring(i * 0.5) } end
  for key, value in pairs(sparse) do total = total + key * value[1] end
  local closures = {}
  for i = 10, 1, -2 do closures[#closures + 1] = function(x) return x * i end end
  for _, f in ipairs(closures) do total = total + f(round) end
  collectgarbage()
  local chunk = assert(load("local s = 0 for i = 1, 50 do s = s + i * 0x1f end return s"))
  total = total + chunk()
end
print(total)
